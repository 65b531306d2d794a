//! The vocabulary of requests: resources, calls, responses, errors, users, selectors, and the metadata of objects.

pub(crate) mod error;
pub(crate) mod go_json;
pub(crate) mod identity;
pub(crate) mod labels;
pub(crate) mod meta;
pub(crate) mod request;
pub(crate) mod resource;
pub(crate) mod response;
pub(crate) mod selector;
pub(crate) mod table;

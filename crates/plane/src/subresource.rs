//! What is served below an object, apart from its parts: `scale`, `binding` and `token`.

pub(crate) mod binding;
pub(crate) mod scale;
pub(crate) mod token;

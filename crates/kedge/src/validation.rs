//! Objects validated without a cluster: their schema, the admission rules with the other objects as neighbours, and advice. `kedge
//! lint` and `kedge migrate` share this.
//!
//! | module | what it holds |
//! |---|---|
//! | `validator` | the validator of objects |
//! | `schema`, `path`, `remedy` | what the API server itself would deny or drop, and the remedy |
//! | `decode` | objects as typed values |
//! | `credentials` | what authentication objects of the same files give |
//! | `duplicates` | objects that are twice in one file |
//! | `advice`, `annotations`, `parameters` | the rules that only `kedge lint` has |
//! | `rules` | all rules by id |

mod advice;
mod annotations;
mod credentials;
mod decode;
pub(crate) mod duplicates;
mod parameters;
mod path;
mod remedy;
pub(crate) mod rules;
mod schema;
mod validator;

pub(crate) use decode::Decoder;
pub(crate) use remedy::{QUOTE_IT, quote_remedy};
pub(crate) use validator::{ValidationContext, Validator};

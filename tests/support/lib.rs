//! What the tests of this package share.
//!
//! | module | what it holds |
//! |---|---|
//! | [`files`] | the folders that tests read |
//! | [`csv`] | golden tables |
//! | [`schema`] | CRD schemas taken apart, to be compared |
//! | [`descriptors`] | compiled protos, to be compared |
//! | [`exposition`] | a metrics endpoint whose values a test sets |
//! | [`guarded`] | a source that must be signed in to |
//! | [`story`] | a namespace in which a test tells a story |
//! | [`external`] | external scalers as processes of their own, and triggers that ask them |
//! | [`unruly`] | an external scaler that does what no scaler should |
//! | [`programs`] | the programs of this checkout |

pub mod csv;
pub mod descriptors;
pub mod exposition;
pub mod external;
pub mod files;
pub mod guarded;
pub mod programs;
pub mod schema;
pub mod story;
pub mod unruly;

//! What the tests of this package share.
//!
//! | module | what it holds |
//! |---|---|
//! | [`files`] | the folders that tests read |
//! | [`golden`] | golden folders: input and expected output |
//! | [`helm`] | the chart, rendered |
//! | [`page`] | tables of documentation pages that tests read |
//! | [`pattern`] | names chosen by patterns |
//! | [`browser`] | a headless Chromium |
//! | [`compare`] | the differences between two JSON values |
//! | [`connections`] | the TCP connections of a process |
//! | [`csv`] | golden tables |
//! | [`schema`] | CRD schemas taken apart, to be compared |
//! | [`descriptors`] | compiled protos, to be compared |
//! | [`denying_webhook`] | an admission webhook that denies |
//! | [`exposition`] | a metrics endpoint whose values a test sets |
//! | [`recording_server`] | an HTTP server that records what it receives |
//! | [`terminal`] | a program in a pseudo-terminal |
//! | [`snapshot`] | the state of a namespace, to be compared |
//! | [`history`] | every version that the objects of a namespace had |
//! | [`leak`] | searches for secrets where they must not be |
//! | [`namespace`] | a namespace for one test, and builders for its objects |
//! | [`external`] | external scalers as separate processes, and triggers for them |
//! | [`faulty_scaler`] | an external scaler that fails in the ways that a test sets |
//! | [`oracle`] | cases that KEDA's own scalers were asked about, built and read by Kedge |
//! | [`programs`] | the programs of this checkout |

pub mod browser;
pub mod compare;
pub mod connections;
pub mod csv;
pub mod denying_webhook;
pub mod descriptors;
pub mod exposition;
pub mod external;
pub mod faulty_scaler;
pub mod files;
pub mod golden;
pub mod helm;
pub mod history;
pub mod leak;
pub mod namespace;
pub mod oracle;
pub mod page;
pub mod pattern;
pub mod programs;
pub mod recording_server;
pub mod schema;
pub mod snapshot;
pub mod terminal;

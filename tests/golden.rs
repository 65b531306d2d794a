//! Tests against files, with nothing but cargo: generated files are fresh, the API has KEDA's fields, and other compilers read
//! the contract with external scalers in the same way.

// Tests and their helpers panic at the first failure.
#![allow(clippy::unwrap_used)]

#[path = "golden/crate_graph.rs"]
mod crate_graph;
#[path = "golden/crds.rs"]
mod crds;
#[path = "golden/cron.rs"]
mod cron;
#[path = "golden/hpa.rs"]
mod hpa;
#[path = "golden/instants.rs"]
mod instants;
#[path = "golden/module_graph.rs"]
mod module_graph;
#[path = "golden/oracle.rs"]
mod oracle;
#[path = "golden/proto.rs"]
mod proto;
#[path = "golden/quantity.rs"]
mod quantity;
#[path = "golden/rbac.rs"]
mod rbac;
#[path = "golden/samples.rs"]
mod samples;
#[path = "golden/security_page.rs"]
mod security_page;
#[path = "golden/troubleshoot.rs"]
mod troubleshoot;
#[path = "golden/wire.rs"]
mod wire;
#[path = "golden/words.rs"]
mod words;
#[path = "golden/workspace.rs"]
mod workspace;

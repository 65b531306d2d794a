//! Tests against files, with nothing but cargo: generated files are fresh, the API is KEDA's field by field, and the
//! contract with external scalers compiles to the same thing elsewhere.

#[path = "golden/crds.rs"]
mod crds;
#[path = "golden/proto.rs"]
mod proto;
#[path = "golden/samples.rs"]
mod samples;

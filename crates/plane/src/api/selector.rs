//! Label and field selectors of lists, watches and workloads. Grammar and messages are those of the
//! API server.

mod field;
mod label;

pub(crate) use field::FieldSelector;
pub(crate) use label::LabelSelector;

#[cfg(test)]
mod tests;

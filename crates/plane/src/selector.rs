//! Label and field selectors: which objects a list, a watch or a workload means. Grammar and refusals are those of the
//! API server.

mod field;
mod label;
mod parse;

pub use field::FieldSelector;
pub use label::LabelSelector;

#[cfg(test)]
mod tests;

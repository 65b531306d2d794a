//! The HorizontalPodAutoscaler: the one that is rendered for an object, and a model of what its controller will do.

pub mod model;
pub mod render;

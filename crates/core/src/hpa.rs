//! The HorizontalPodAutoscaler: rendering, ownership and comparison of an object's HPA, and a model of the HPA controller.

pub mod compare;
pub mod explain;
pub mod model;
pub mod ownership;
pub mod render;
pub mod scale_in;

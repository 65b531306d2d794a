//! The HorizontalPodAutoscaler: rendering the one of an object, judging one that was found, and a model of what its
//! controller will do.

pub mod compare;
pub mod model;
pub mod ownership;
pub mod render;

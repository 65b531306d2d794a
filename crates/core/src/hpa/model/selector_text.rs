//! Label selectors as the controller prints them into metric names and errors.

use std::fmt::Write;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// The selector in the style of Go's generated `String` methods; `nil` where there is none.
pub(super) fn print_selector(selector: Option<&LabelSelector>) -> String {
    let Some(selector) = selector else { return "nil".to_owned() };
    let mut labels = String::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        let _ = write!(labels, "{key}: {value},");
    }
    let expressions: String = selector.match_expressions.iter().flatten().map(print_requirement).collect();
    let expressions = format!("[]LabelSelectorRequirement{{{expressions}}}");
    format!("&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:{expressions},}}")
}

fn print_requirement(requirement: &LabelSelectorRequirement) -> String {
    let values = requirement.values.as_deref().unwrap_or_default().join(" ");
    let LabelSelectorRequirement { key, operator, .. } = requirement;
    format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_selector_is_not_an_absent_one() {
        let empty = "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}";
        assert_eq!(print_selector(None), "nil");
        assert_eq!(print_selector(Some(&LabelSelector::default())), empty);
    }
}

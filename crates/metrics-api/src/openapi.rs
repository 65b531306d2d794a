//! OpenAPI, versions 2 and 3. kube-apiserver downloads both and complains in its log for as long as it cannot.

use serde_json::json;

use crate::group::GROUP_VERSION;
use crate::response::Document;

#[derive(Debug)]
pub(crate) struct OpenApi {
    v2: Document,
    v3: Document,
    v3_document: Document,
}

impl OpenApi {
    pub(crate) fn new() -> Self {
        let v3_document = Document::new(include_str!("openapi/v3.json"));
        // The hash lets clients cache. A stale one gets the current document: kube-apiserver rejects
        // redirects.
        let address = format!("/openapi/v3/apis/{GROUP_VERSION}?hash={}", v3_document.hash());
        let index = json!({"paths": {format!("apis/{GROUP_VERSION}"): {"serverRelativeURL": address}}});
        Self {
            v2: Document::new(include_str!("openapi/v2.json")),
            v3: Document::new(format!("{index}\n")),
            v3_document,
        }
    }

    pub(crate) fn v2(&self) -> &Document {
        &self.v2
    }

    /// The index of the documents of version 3.
    pub(crate) fn v3(&self) -> &Document {
        &self.v3
    }

    pub(crate) fn v3_document(&self) -> &Document {
        &self.v3_document
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::group::GROUP_VERSION;

    /// Every reference in a document.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn documents_describe_the_metric_and_refer_to_nothing_absent() {
        let rows = [("v2", include_str!("openapi/v2.json")), ("v3", include_str!("openapi/v3.json"))];
        for (name, text) in rows {
            let document: Value = serde_json::from_str(text).expect("JSON");
            let path = format!("/apis/{GROUP_VERSION}/namespaces/{{namespace}}/{{resource}}");
            assert!(document["paths"][&path]["get"].is_object(), "{name}");
            let mut found = Vec::new();
            references(&document, &mut found);
            assert_eq!(found.len(), 2, "{name}: {found:?}");
            for reference in found {
                let pointer = reference.strip_prefix('#').expect("a local reference");
                assert!(document.pointer(pointer).is_some(), "{name}: {reference}");
            }
        }
    }
}

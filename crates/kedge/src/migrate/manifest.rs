//! Annotates objects in the manifest of a release, so that `helm uninstall` keeps them. The text changes by a line or two; a document
//! with an unusual layout is rendered again.

use serde_json::{Value, json};

use super::plan::{KEEP, Object, POLICY};

#[derive(Debug, thiserror::Error)]
#[error("{object} in the manifest cannot be read: {problem}")]
pub(super) struct Unreadable {
    object: String,
    problem: String,
}

/// A manifest in which objects are kept, and those that were not before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) manifest: String,
    pub(super) changed: Vec<Object>,
}

/// Annotates the objects that the manifest has.
pub(super) fn keep(manifest: &str, objects: &[Object]) -> Result<Kept, Unreadable> {
    let mut kept = Kept { manifest: String::with_capacity(manifest.len()), changed: Vec::new() };
    for document in documents(manifest) {
        match annotated(document, objects)? {
            Some((text, object)) => {
                kept.manifest.push_str(&text);
                kept.changed.push(object);
            }
            None => kept.manifest.push_str(document),
        }
    }
    Ok(kept)
}

/// The documents of a manifest, each with the line that begins it; together they are the manifest.
pub(super) fn documents(manifest: &str) -> Vec<&str> {
    let mut starts: Vec<usize> = manifest.match_indices("\n---").map(|(at, _)| at + 1).collect();
    starts.insert(0, 0);
    starts.push(manifest.len());
    starts.windows(2).map(|pair| &manifest[pair[0]..pair[1]]).collect()
}

/// The document with the annotation, if it is one of the objects and lacks it.
fn annotated(document: &str, objects: &[Object]) -> Result<Option<(String, Object)>, Unreadable> {
    let may_be = |object: &&Object| document.contains(&object.name) && document.contains(object.kind.kind());
    let Some(guess) = objects.iter().find(may_be) else { return Ok(None) };
    let (start, body) = split_start(document);
    let read = |text: &str| serde_saphyr::from_str::<Value>(text);
    let value = read(body)
        .map_err(|error| Unreadable { object: guess.to_string(), problem: error.without_snippet().to_string() })?;
    let Some(object) = objects.iter().find(|object| object.is(&value)) else { return Ok(None) };
    if is_kept(&value) {
        return Ok(None);
    }
    let mut wanted = value;
    wanted["metadata"]["annotations"][POLICY] = json!(KEEP);
    let text = inserted(body).filter(|text| read(text).is_ok_and(|now| now == wanted));
    let text = text.unwrap_or_else(|| format!("{wanted:#}\n"));
    Ok(Some((format!("{start}{text}"), object.clone())))
}

/// Whether Helm keeps the object.
pub(super) fn is_kept(value: &Value) -> bool {
    let policy = value["metadata"]["annotations"][POLICY].as_str().unwrap_or_default();
    policy.trim().eq_ignore_ascii_case(KEEP)
}

/// The line that begins a document, and the rest of it.
pub(super) fn split_start(document: &str) -> (&str, &str) {
    if !document.starts_with("---") {
        return ("", document);
    }
    document.split_at(document.find('\n').map_or(document.len(), |end| end + 1))
}

/// The text with a line for the annotation, if its metadata has the usual layout.
fn inserted(body: &str) -> Option<String> {
    let lines: Vec<&str> = body.split_inclusive('\n').collect();
    let metadata = lines.iter().position(|line| line.trim_end() == "metadata:")?;
    let first = lines.get(metadata + 1)?;
    let margin = &first[..first.len() - first.trim_start().len()];
    let inside = lines[metadata + 1..].iter().take_while(|line| line.starts_with(' '));
    let annotations = inside.clone().position(|line| line.trim_end() == format!("{margin}annotations:"));
    let (after, new) = match annotations {
        Some(at) => {
            let next = lines.get(metadata + at + 2)?;
            let margin = &next[..next.len() - next.trim_start().len()];
            (metadata + at + 1, format!("{margin}{POLICY}: {KEEP}\n"))
        }
        None => (metadata, format!("{margin}annotations:\n{margin}  {POLICY}: {KEEP}\n")),
    };
    Some([lines[..=after].concat(), new, lines[after + 1..].concat()].concat())
}

#[cfg(test)]
mod tests {
    use super::super::plan::SharedKind;
    use super::*;

    fn crd() -> Object {
        Object { kind: SharedKind::Crd, name: "scaledobjects.keda.sh".to_owned() }
    }

    const HEAD: &str =
        "---\n# Source: keda/templates/crd.yaml\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n";

    fn kept(document: &str) -> String {
        let before = "---\n# Source: keda/templates/a.yaml\nkind: ConfigMap\ndata:\n  text: scaledobjects.keda.sh\n";
        let manifest = format!("{before}{document}---\nkind: Service\n");
        let kept = keep(&manifest, &[crd()]).unwrap();
        let again = keep(&kept.manifest, &[crd()]).unwrap();
        assert_eq!((again.manifest, again.changed), (kept.manifest.clone(), Vec::new()), "the second time");
        let inside = kept.manifest.strip_prefix(before).and_then(|text| text.strip_suffix("---\nkind: Service\n"));
        inside.expect("nothing else changed").to_owned()
    }

    #[test]
    fn the_mark_is_one_more_line() {
        let rows = [
            (
                "beside other annotations",
                "metadata:\n  annotations:\n    a: b\n  name: scaledobjects.keda.sh\n",
                "metadata:\n  annotations:\n    helm.sh/resource-policy: keep\n    a: b\n  name: scaledobjects.keda.sh\n",
            ),
            (
                "with annotations of its own",
                "metadata:\n  name: scaledobjects.keda.sh\n",
                "metadata:\n  annotations:\n    helm.sh/resource-policy: keep\n  name: scaledobjects.keda.sh\n",
            ),
            (
                "in a wide margin",
                "metadata:\n      name: scaledobjects.keda.sh\nspec:\n  annotations: no\n",
                "metadata:\n      annotations:\n        helm.sh/resource-policy: keep\n      name: scaledobjects.keda.sh\nspec:\n  annotations: no\n",
            ),
        ];
        for (name, before, after) in rows {
            assert_eq!(kept(&format!("{HEAD}{before}")), format!("{HEAD}{after}"), "{name}");
        }
    }

    #[test]
    fn unusual_formatting_is_rewritten() {
        let rows = [
            "metadata: {name: scaledobjects.keda.sh}\n",
            "metadata:\n  name: scaledobjects.keda.sh\n  annotations: {}\n",
            "metadata:\n  name: scaledobjects.keda.sh\n  annotations:\n    helm.sh/resource-policy: remove\n",
            "metadata:\n  name: scaledobjects.keda.sh\n  annotations:\n",
        ];
        for metadata in rows {
            let text = kept(&format!("{HEAD}{metadata}"));
            let value: Value = serde_saphyr::from_str(split_start(&text).1).unwrap();
            assert_eq!(value["metadata"]["annotations"][POLICY], KEEP, "{metadata}");
            assert_eq!(
                (&value["metadata"]["name"], &value["kind"]),
                (&json!(crd().name), &json!("CustomResourceDefinition"))
            );
        }
    }

    #[test]
    fn what_is_kept_already_and_what_is_something_else_stay() {
        let already = format!(
            "{HEAD}metadata:\n  name: scaledobjects.keda.sh\n  annotations:\n    helm.sh/resource-policy: \" Keep\"\n"
        );
        let other = "---\nkind: Secret\nmetadata:\n  name: scaledobjects.keda.sh\n".to_owned();
        for manifest in [already, other, String::new()] {
            assert_eq!(keep(&manifest, &[crd()]).unwrap(), Kept { manifest, changed: Vec::new() });
        }
    }

    #[test]
    fn an_object_that_cannot_be_read_is_named() {
        let error = keep(&format!("{HEAD}metadata: [scaledobjects.keda.sh\n"), &[crd()]).unwrap_err().to_string();
        assert!(
            error.starts_with("CustomResourceDefinition scaledobjects.keda.sh in the manifest cannot be read: "),
            "{error}"
        );
    }
}

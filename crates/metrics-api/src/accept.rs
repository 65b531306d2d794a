//! Content negotiation by the Accept header. All responses are JSON; discovery has a second form.

use http::HeaderMap;
use http::header::ACCEPT;

use crate::status::Status;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryForm {
    Plain,
    /// `apidiscovery.k8s.io/v2`: groups, versions and resources in one document.
    Aggregated,
}

/// Fails unless the caller takes JSON, of whatever sort: a table or a list of metadata gets the plain object.
pub(crate) fn require_json(headers: &HeaderMap) -> Result<(), Status> {
    let ranges = parse_ranges(headers);
    if ranges.is_empty() || ranges.iter().any(MediaRange::admits_json) { Ok(()) } else { Err(Status::not_acceptable()) }
}

/// The form of discovery that the caller prefers.
pub(crate) fn choose_discovery(headers: &HeaderMap) -> Result<DiscoveryForm, Status> {
    let ranges = parse_ranges(headers);
    if ranges.is_empty() {
        return Ok(DiscoveryForm::Plain);
    }
    ranges.iter().find_map(MediaRange::discovery_form).ok_or_else(Status::not_acceptable)
}

#[derive(Debug)]
struct MediaRange {
    base: String,
    parameters: Vec<(String, String)>,
    quality: f32,
}

impl MediaRange {
    fn parse(text: &str) -> Self {
        let mut pieces = text.split(';').map(str::trim);
        let base = pieces.next().unwrap_or_default().to_ascii_lowercase();
        let mut range = Self { base, parameters: Vec::new(), quality: 1.0 };
        for (key, value) in pieces.filter_map(|piece| piece.split_once('=')) {
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim().trim_matches('"'));
            if key == "q" {
                range.quality = value.parse().unwrap_or(0.0);
            } else {
                range.parameters.push((key, value.to_owned()));
            }
        }
        range
    }

    fn admits_json(&self) -> bool {
        ["application/json", "application/*", "*/*"].contains(&self.base.as_str())
    }

    fn discovery_form(&self) -> Option<DiscoveryForm> {
        let parameter = |name| self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        match (parameter("g"), parameter("v"), parameter("as")) {
            _ if !self.admits_json() => None,
            (Some("apidiscovery.k8s.io"), Some("v2"), Some("APIGroupDiscoveryList")) => Some(DiscoveryForm::Aggregated),
            (None, None, None) => Some(DiscoveryForm::Plain),
            _ => None,
        }
    }
}

/// The acceptable media ranges, best first, equals in their order of appearance.
fn parse_ranges(headers: &HeaderMap) -> Vec<MediaRange> {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let texts = values.flat_map(|value| value.split(',')).map(str::trim).filter(|text| !text.is_empty());
    let mut ranges: Vec<_> = texts.map(MediaRange::parse).collect();
    if ranges.is_empty() {
        return ranges;
    }
    ranges.sort_by(|one, other| other.quality.total_cmp(&one.quality));
    // A range with quality 0 stays in the list and admits nothing: an empty list would admit everything.
    for refused in ranges.iter_mut().filter(|range| range.quality <= 0.0) {
        refused.base.clear();
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const V2BETA1: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

    fn headers(accept: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().expect("a header"));
        headers
    }

    #[test]
    fn json_goes_to_everyone_who_takes_it() {
        let rows = [
            ("", true),
            ("*/*", true),
            ("application/*", true),
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/vnd.kubernetes.protobuf, */*", true),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", true),
            ("application/vnd.kubernetes.protobuf", false),
            ("application/yaml, text/html;q=0.9", false),
            ("application/json;q=0", false),
            ("application/json;q=zero", false),
        ];
        for (accept, expected) in rows {
            assert_eq!(require_json(&headers(accept)).is_ok(), expected, "{accept}");
        }
        assert_eq!(require_json(&HeaderMap::new()), Ok(()));
    }

    #[test]
    fn discovery_takes_the_preferred_form() {
        let rows = [
            ("kube-apiserver", format!("{V2},{V2BETA1}"), Some(DiscoveryForm::Aggregated)),
            ("client-go", format!("{V2},{V2BETA1},application/json"), Some(DiscoveryForm::Aggregated)),
            (
                "the order of parameters is free",
                V2.replace("g=apidiscovery.k8s.io;v=v2", "v=v2;g=apidiscovery.k8s.io"),
                Some(DiscoveryForm::Aggregated),
            ),
            ("plain liked better", format!("{V2};q=0.5,application/json"), Some(DiscoveryForm::Plain)),
            ("the beta was dropped", V2BETA1.to_owned(), None),
            ("the beta or plain", format!("{V2BETA1},application/json"), Some(DiscoveryForm::Plain)),
            ("plain", "application/json".to_owned(), Some(DiscoveryForm::Plain)),
            ("anything", "*/*".to_owned(), Some(DiscoveryForm::Plain)),
            ("protobuf alone", V2.replace("json", "vnd.kubernetes.protobuf"), None),
        ];
        for (name, accept, expected) in rows {
            assert_eq!(choose_discovery(&headers(&accept)).ok(), expected, "{name}");
        }
        assert_eq!(choose_discovery(&HeaderMap::new()), Ok(DiscoveryForm::Plain));
    }
}

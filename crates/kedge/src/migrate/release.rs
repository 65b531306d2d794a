//! Releases as Helm 3 and 4 store them: one Secret per revision, whose `release` is base64 of gzip of JSON. `helm uninstall` reads the
//! annotations of the manifest in the release, not those of the live objects.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde_json::value::RawValue;

/// The largest data of a Secret.
const SECRET_MAX: usize = 1024 * 1024;

/// The prefix of compressed releases. Early versions of Helm did not compress.
const GZIP: [u8; 3] = [0x1f, 0x8b, 0x08];

/// The fields of a release. Only the manifest changes: all others stay byte-identical.
#[derive(Debug)]
pub(super) struct Release(BTreeMap<String, Box<RawValue>>);

#[derive(Debug, thiserror::Error)]
pub(super) enum ReleaseError {
    #[error("is not in base64")]
    Base64(#[from] base64::DecodeError),
    #[error("cannot be unpacked")]
    Gzip(#[from] std::io::Error),
    #[error("is not the JSON of a release")]
    Json(#[from] serde_json::Error),
    #[error("has no {0}")]
    Missing(&'static str),
    #[error("would be {0} bytes, and a Secret holds {SECRET_MAX}")]
    TooLarge(usize),
}

#[derive(Deserialize)]
struct Info {
    status: String,
}

impl Release {
    /// Reads the `release` of a Secret.
    pub(super) fn decode(data: &[u8]) -> Result<Self, ReleaseError> {
        let packed = STANDARD.decode(data)?;
        let mut json = Vec::new();
        if packed.starts_with(&GZIP) {
            GzDecoder::new(packed.as_slice()).read_to_end(&mut json)?;
        } else {
            json = packed;
        }
        Ok(Self(serde_json::from_slice(&json)?))
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, ReleaseError> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&serde_json::to_vec(&self.0)?)?;
        let data = STANDARD.encode(packed.finish()?).into_bytes();
        if data.len() > SECRET_MAX { Err(ReleaseError::TooLarge(data.len())) } else { Ok(data) }
    }

    /// The status, such as `deployed` or `pending-upgrade`.
    pub(super) fn status(&self) -> Result<String, ReleaseError> {
        let info = self.0.get("info").ok_or(ReleaseError::Missing("info"))?;
        Ok(serde_json::from_str::<Info>(info.get())?.status)
    }

    pub(super) fn manifest(&self) -> Result<String, ReleaseError> {
        let manifest = self.0.get("manifest").ok_or(ReleaseError::Missing("manifest"))?;
        Ok(serde_json::from_str(manifest.get())?)
    }

    pub(super) fn set_manifest(&mut self, manifest: &str) -> Result<(), ReleaseError> {
        self.0.insert("manifest".to_owned(), serde_json::value::to_raw_value(manifest)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"name":"keda","info":{"status":"deployed","first":"x"},"chart":{"values":{"big":12345678901234567890123,"f":1.50}},"manifest":"---\na: 1\n","version":3}"#;

    fn packed(json: &str) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(json.as_bytes()).unwrap();
        STANDARD.encode(packed.finish().unwrap()).into_bytes()
    }

    #[test]
    fn only_the_manifest_changes() {
        let mut release = Release::decode(&packed(JSON)).unwrap();
        assert_eq!(
            (release.status().unwrap().as_str(), release.manifest().unwrap().as_str()),
            ("deployed", "---\na: 1\n")
        );
        release.set_manifest("---\na: \"2\"\n").unwrap();
        let again = Release::decode(&release.encode().unwrap()).unwrap();
        assert_eq!(again.manifest().unwrap(), "---\na: \"2\"\n");
        assert_eq!(again.0["chart"].get(), r#"{"values":{"big":12345678901234567890123,"f":1.50}}"#);
        assert_eq!(again.0.len(), 5);
    }

    #[test]
    fn a_release_from_before_compression_is_read() {
        let release = Release::decode(STANDARD.encode(JSON).as_bytes()).unwrap();
        assert_eq!(release.manifest().unwrap(), "---\na: 1\n");
    }

    #[test]
    fn what_is_no_release_is_named() {
        let error = |data: &[u8]| Release::decode(data).unwrap_err().to_string();
        assert_eq!(error(b"%"), "is not in base64");
        assert_eq!(error(STANDARD.encode("no").as_bytes()), "is not the JSON of a release");
        assert_eq!(error(STANDARD.encode([0x1f, 0x8b, 0x08, 0]).as_bytes()), "cannot be unpacked");
        let empty = Release::decode(&packed("{}")).unwrap();
        assert_eq!(empty.manifest().unwrap_err().to_string(), "has no manifest");
    }
}

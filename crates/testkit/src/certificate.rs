//! Certificates that are made for a test, by the program `openssl`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The two files of a certificate for this machine's names, which signs itself.
pub struct TestCertificate {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl TestCertificate {
    /// Makes `NAME.pem` and `NAME.key` in a folder.
    pub fn make(folder: &Path, name: &str) -> TestCertificate {
        let made = TestCertificate {
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}.key")),
        };
        let mut openssl = Command::new("openssl");
        openssl
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt"])
            .args(["ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
            .args(["-subj", "/CN=localhost", "-addext"])
            .arg("subjectAltName=DNS:localhost,IP:127.0.0.1")
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .arg("-keyout")
            .arg(&made.key)
            .arg("-out")
            .arg(&made.certificate);
        let ran = openssl.output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        made
    }
}

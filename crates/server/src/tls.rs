//! The server's own certificate: read from two PEM files, and read anew when they change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;
use workspace::fs;

/// The name of HTTP/2 in the handshake.
pub(crate) const HTTP2_NAME: &[u8] = b"h2";
const HTTP1_NAME: &[u8] = b"http/1.1";

/// The files of the certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and those that lead to a root that clients know.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// A file of the certificate that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{place}: {reason}")]
pub struct CertificateProblem {
    /// The file.
    pub place: String,
    pub reason: String,
    pub hint: &'static str,
}

/// The contents of both files when they were last read.
type FileContents = (Vec<u8>, Vec<u8>);

/// The certificate that clients are shown.
#[derive(Debug)]
pub(crate) struct ServedCertificate {
    files: TlsFiles,
    current: RwLock<(Arc<CertifiedKey>, FileContents)>,
}

impl ServedCertificate {
    pub(crate) fn read(files: &TlsFiles) -> Result<Arc<ServedCertificate>, CertificateProblem> {
        let contents = files.read()?;
        let key = files.parse(&contents)?;
        Ok(Arc::new(ServedCertificate {
            files: files.clone(),
            current: RwLock::new((Arc::new(key), contents)),
        }))
    }

    /// Returns what shakes hands with clients.
    pub(crate) fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor, CertificateProblem> {
        let config = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|cause| self.files.problem(&self.files.certificate, &cause))?;
        let resolver = Arc::clone(self);
        let mut config = config.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![HTTP2_NAME.to_vec(), HTTP1_NAME.to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Takes up files that have changed. Where the new ones cannot be used, the old certificate stays.
    pub(crate) async fn follow(self: Arc<Self>, every: Duration) {
        let mut refused = None;
        loop {
            tokio::time::sleep(every).await;
            match self.refresh() {
                Ok(is_new) => {
                    refused = None;
                    if is_new {
                        tracing::info!("the certificate was read anew");
                    }
                }
                Err(problem) if refused.as_ref() != Some(&problem) => {
                    let cause = problem.to_string();
                    tracing::warn!(cause = cause.as_str(), "the certificate stays as it was");
                    refused = Some(problem);
                }
                Err(_) => {}
            }
        }
    }

    fn refresh(&self) -> Result<bool, CertificateProblem> {
        let contents = self.files.read()?;
        let known = self.current.read().unwrap_or_else(PoisonError::into_inner);
        if known.1 == contents {
            return Ok(false);
        }
        drop(known);
        let key = self.files.parse(&contents)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = (Arc::new(key), contents);
        Ok(true)
    }
}

impl ResolvesServerCert for ServedCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&current.0))
    }
}

impl TlsFiles {
    fn read(&self) -> Result<FileContents, CertificateProblem> {
        let certificate = self.read_one(&self.certificate)?;
        if fs::is_open_to_others(&self.key) {
            return Err(CertificateProblem {
                place: self.key.display().to_string(),
                reason: "other users of the machine can read or write this private key".to_owned(),
                hint: "run `chmod 600` on it, as the user who runs the server",
            });
        }
        Ok((certificate, self.read_one(&self.key)?))
    }

    fn read_one(&self, file: &Path) -> Result<Vec<u8>, CertificateProblem> {
        match fs::read(file) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(self.problem(file, &"there is no such file")),
            Err(error) => Err(self.problem(file, &error)),
        }
    }

    fn parse(&self, (certificate, key): &FileContents) -> Result<CertifiedKey, CertificateProblem> {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
        let chain = read.map_err(|cause| self.problem(&self.certificate, &cause))?;
        if chain.is_empty() {
            return Err(self.problem(&self.certificate, &"it has no certificate in the form PEM"));
        }
        let private = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| self.problem(&self.key, &"it has no private key in the form PEM"))?;
        CertifiedKey::from_der(chain, private, &provider()).map_err(|cause| match cause {
            rustls::Error::InconsistentKeys(_) => {
                let other = self.certificate.display();
                self.problem(&self.key, &format!("it is not the key of {other}"))
            }
            cause => self.problem(&self.key, &cause),
        })
    }

    fn problem(&self, file: &Path, cause: &dyn std::fmt::Display) -> CertificateProblem {
        CertificateProblem {
            place: file.display().to_string(),
            reason: cause.to_string(),
            hint: "`tls.cert` is the certificate with its chain and `tls.key` its private key, both PEM",
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

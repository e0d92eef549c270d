/** A certificate with its chain, and its private key, both in PEM. */
export interface CertificatePem {
  cert: string;
  key: string;
}

// A TLS client certificate and its private key.
import { createPrivateKey, X509Certificate } from "node:crypto";

/** Both in PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Whether both can be read, and the key, unencrypted, is that of the certificate. OpenSSL compares
 * keys of one kind only: with a key of another, it presents no certificate.
 */
export function isUsable({ cert, key }: ClientCertificate): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

/** Certificates of servers and of authorities. */
export {
  CaBundleError,
  NoCertificateError,
  parseCaBundle,
  trustContext,
  trustedCertificates,
} from './ca-bundle.ts';
export {
  alternativeNames,
  chainOf,
  leafFacts,
  parseCertificateChain,
  parseServerKey,
  ServerCertificateError,
} from './server-certificate.ts';

/** The commands of sslyze that speak of TLS; the others judge the certificate and the HTTP behind it. */
export const SCANS = [
  'sslv2',
  'sslv3',
  'tlsv1',
  'tlsv1_1',
  'tlsv1_2',
  'tlsv1_3',
  'heartbleed',
  'robot',
  'openssl_ccs',
  'reneg',
  'compression',
  'fallback',
  'resum',
  'ems',
  'early_data',
  'elliptic_curves',
] as const;

/** What sslyze finds of ROBOT, a hole of the RSA key exchange: that has to be offered to be tried. */
export const ROBOT = {
  ecdsa: 'NOT_VULNERABLE_RSA_NOT_SUPPORTED',
  rsa: 'NOT_VULNERABLE_NO_ORACLE',
} as const;

/** Other known holes and what sslyze finds of them in a server that has none. */
export const HOLES: Readonly<Record<string, string>> = {
  'heartbleed.is_vulnerable_to_heartbleed': 'false',
  'openssl_ccs_injection.is_vulnerable_to_ccs_injection': 'false',
  'session_renegotiation.is_vulnerable_to_client_renegotiation_dos': 'false',
  'session_renegotiation.supports_secure_renegotiation': 'true',
  'tls_compression.supports_compression': 'false',
  'tls_fallback_scsv.supports_fallback_scsv': 'true',
  'tls_1_3_early_data.supports_early_data': 'false',
  ssl_2_0_cipher_suites: 'rejected',
  ssl_3_0_cipher_suites: 'rejected',
  tls_1_0_cipher_suites: 'rejected',
  tls_1_1_cipher_suites: 'rejected',
};

/** The parts of sslyze's JSON that are read here. */
interface Attempt {
  readonly status: string;
  readonly error_trace: string | null;
  readonly result: Readonly<Record<string, unknown>> | null;
}

interface CipherSuites {
  readonly is_tls_version_supported: boolean;
  readonly accepted_cipher_suites: readonly {
    readonly cipher_suite: { readonly name: string };
    readonly ephemeral_key: { readonly type_name: string; readonly size: number } | null;
  }[];
}

interface Curves {
  readonly supported_curves: readonly { readonly name: string }[] | null;
}

interface Scanned {
  readonly server_scan_results: readonly [
    { readonly scan_status: string; readonly scan_result: Readonly<Record<string, Attempt>> },
  ];
}

/**
 * What sslyze has found, one finding a name: a value, or `accepted` for a cipher or a curve.
 *
 * @param text its output of `--json_out`.
 * @throws if one of its checks did not come to an end.
 */
export function findingsOf(text: string): Map<string, string> {
  const [{ scan_status, scan_result }] = (JSON.parse(text) as Scanned).server_scan_results;
  if (scan_status !== 'COMPLETED') throw new Error(`sslyze: ${scan_status}`);
  const findings = new Map<string, string>();
  for (const [name, { status, error_trace, result }] of Object.entries(scan_result)) {
    if (status === 'NOT_SCHEDULED') continue;
    if (result === null) throw new Error(`sslyze: ${name}: ${status}\n${error_trace}`);
    for (const [what, found] of findingsOfOne(name, result)) findings.set(what, found);
  }
  return findings;
}

function findingsOfOne(
  name: string,
  result: Readonly<Record<string, unknown>>,
): readonly (readonly [string, string])[] {
  if (name.endsWith('_cipher_suites')) {
    const { is_tls_version_supported, accepted_cipher_suites } = result as unknown as CipherSuites;
    const ciphers = accepted_cipher_suites.map(({ cipher_suite, ephemeral_key: key }) => {
      const exchange = key === null ? '' : ` ${key.type_name} ${key.size}`;
      return [`${name}.${cipher_suite.name}${exchange}`, 'accepted'] as const;
    });
    return [[name, is_tls_version_supported ? 'accepted' : 'rejected'], ...ciphers];
  }
  if (name === 'elliptic_curves') {
    const { supported_curves } = result as unknown as Curves;
    return (supported_curves ?? []).map((curve) => [`${name}.${curve.name}`, 'accepted']);
  }
  return Object.entries(result).map(([key, value]) => [`${name}.${key}`, String(value)]);
}

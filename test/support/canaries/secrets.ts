import { createHash } from 'node:crypto';

/*
 * A secret of every kind that a file or a client of Weir has, none of which occurs anywhere else. `wrong…` are those
 * of clients that are rejected: what is typed into the wrong place is a secret too.
 */

const key = (fill: string, bytes: number): string => Buffer.alloc(bytes, fill).toString('base64');

/** Not told by repetition: UUIDs of version 4. */
export const SECRETS = {
  api: 'canary-api-6120',
  wrongApi: 'canary-wrong-api-6120',
  socks: 'canary-socks-6120',
  wrongSocks: 'canary-wrong-socks-6120',
  http: 'canary-http-6120',
  wrongHttp: 'canary-wrong-http-6120',
  trojan: 'canary-trojan-6120',
  wrongTrojan: 'canary-wrong-trojan-6120',
  vless: '5a1f0c52-9b2e-4f1d-8c37-d2a64e90b7f3',
  otherVless: '7d3f8e02-51ab-4c66-9d0e-b84f21c7a935',
  wrongVless: '0e6f2f0b-6f0a-4c9e-a3d5-71f0cfe3b8d1',
  vmess: '9c1b7d44-03e5-4a7a-b0f2-5ad86c1e2f90',
  wrongVmess: 'c72e91a5-d9b8-4b14-8f62-3e0a9d75c1b6',
  shadowsocks: 'canary-shadowsocks-6120',
  wrongShadowsocks: 'canary-wrong-shadowsocks-6120',
  shadowsocks2022: key('canary-2022-pair', 16),
  user2022: key('canary-2022-user', 16),
  wrong2022: key('canary-2022-evil', 16),
  hysteria2: 'canary-hysteria2-6120',
  wrongHysteria2: 'canary-wrong-hysteria2-6120',
  obfuscation: 'canary-obfuscation-6120',
  wireguard: key('canary-wireguard-private-key-612', 32),
  preshared: key('canary-wireguard-preshared-k-612', 32),
  // These give access to a server, or identify a customer of a resolver or a provider.
  wsPath: '/canary-path-6120',
  grpcService: 'canary-service-6120',
  resolver: 'canary-resolver-6120',
  subscription: 'canary-subscription-6120',
  subscriptionUser: 'canary-provider-login-6120',
  // Of a link that a client sends as its user wrote it.
  link: 'canary-link-6120',
  // What clients carry through, which is none of Weir's business.
  query: 'canary-query-6120',
  cookie: 'canary-cookie-6120',
  payload: 'canary-payload-6120',
} as const;

/** The forms in which a secret may appear: as it is, escaped, coded for a URL, in Base64, in digits, as sent. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const isKey = /^[A-Za-z0-9+/]{22,43}==?$/.test(secret);
  const isId = /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(secret);
  // Without the last characters, which depend on what follows.
  const base64 = bytes.toString('base64').replace(/=+$/, '').slice(0, -1);
  return [
    secret,
    secret.replace(/^\//, ''),
    encodeURIComponent(secret),
    base64,
    bytes.toString('hex'),
    createHash('sha224').update(secret).digest('hex'),
    ...(isKey
      ? [Buffer.from(secret, 'base64').toString('hex'), Buffer.from(secret, 'base64').toString()]
      : []),
    ...(isId ? [secret.replaceAll('-', ''), secret.toUpperCase()] : []),
  ];
}

const FORMS = Object.entries(SECRETS).map(([name, secret]) => [name, formsOf(secret)] as const);

/** What `weir show` and the text on the dashboard's page of the configuration have: it is in no place else. */
export const SHOWN_TO_OPERATORS: ReadonlySet<string> = new Set([
  'wsPath',
  'grpcService',
  'resolver',
]);

/** Secrets that are found in a text: their names, each with what stands around it. */
export function secretsIn(text: string, more: Readonly<Record<string, string>> = {}): string[] {
  const all = [...FORMS, ...Object.entries(more).map(([name, form]) => [name, [form]] as const)];
  return all.flatMap(([name, forms]) =>
    [...new Set(forms)].flatMap((form) => {
      const at = text.indexOf(form);
      return at < 0
        ? []
        : [`${name}: …${text.slice(Math.max(0, at - 120), at + form.length + 40)}…`];
    }),
  );
}

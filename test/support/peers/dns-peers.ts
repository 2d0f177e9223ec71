import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startPeer, type Peer } from '../programs/peers.ts';
import type { TestCertificate } from '../data/test-certificates.ts';

/** Addresses of one name that do not fit a datagram of 1232 bytes. */
export const MANY = 200;

/** What unbound serves; it forwards no question, since it is authoritative for everything below the root. */
const ZONE = [
  `local-zone: "." static`,
  `local-zone: "example.test." static`,
  `local-data: "example.test. 300 IN SOA ns.example.test. admin.example.test. 1 3600 600 86400 40"`,
  `local-data: "both.example.test. 120 IN A 192.0.2.1"`,
  `local-data: "both.example.test. 60 IN AAAA 2001:db8::1"`,
  `local-data: "v4.example.test. 120 IN A 192.0.2.4"`,
  `local-data: "www.example.test. 90 IN CNAME both.example.test."`,
  ...Array.from(
    { length: MANY },
    (_, i) => `local-data: "many.example.test. 60 IN AAAA 2001:db8::${(i + 1).toString(16)}"`,
  ),
];

/** A configuration of unbound in the foreground that asks no other server; `lines` are of its server. */
export const unboundConfig = (folder: string, lines: readonly string[]): string =>
  [
    'server:',
    ...lines,
    `directory: "${folder}"`,
    'username: ""',
    'chroot: ""',
    'pidfile: ""',
    'use-syslog: no',
    'do-daemonize: no',
    'do-ip6: no',
    'module-config: "iterator"',
    'remote-control:',
    'control-enable: no',
  ].join('\n');

/** unbound over UDP and TCP, TLS and HTTPS: the ports of its `addresses`, in this order. */
export function startUnbound(certificate: TestCertificate): Promise<Peer> {
  return startPeer('unbound', 3, async ([plain, tls, https], folder) => {
    const file = join(folder, 'unbound.conf');
    const files = await writeCertificate(folder, certificate);
    const lines = [
      ...[plain, tls, https].map((port) => `interface: 127.0.0.1@${port}`),
      `port: ${plain}`,
      `tls-port: ${tls}`,
      `https-port: ${https}`,
      `tls-service-key: "${files.key}"`,
      `tls-service-pem: "${files.cert}"`,
      'access-control: 127.0.0.0/8 allow',
      ...ZONE,
    ];
    await writeFile(file, unboundConfig(folder, lines));
    return ['-d', '-p', '-c', file];
  });
}

/** Requests after which nginx closes a connection. */
export const KEPT_REQUESTS = 20;

/** nginx with TLS in front of an HTTP server, with HTTP/2 or with HTTP/1.1 only. */
export function startNginx(
  certificate: TestCertificate,
  upstreamPort: number,
  version: 'h1' | 'h2',
): Promise<Peer> {
  return startPeer('nginx', 1, async ([port], folder) => {
    const file = join(folder, 'nginx.conf');
    const files = await writeCertificate(folder, certificate);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${join(folder, name)};`,
    );
    await writeFile(
      file,
      `daemon off; master_process off; pid ${join(folder, 'nginx.pid')};
       error_log stderr; events {}
       http {
         access_log off; keepalive_requests ${KEPT_REQUESTS}; ${temporary.join(' ')}
         server {
           listen 127.0.0.1:${port} ssl${version === 'h2' ? ' http2' : ''};
           ssl_certificate ${files.cert}; ssl_certificate_key ${files.key};
           location /dns-query { proxy_pass http://127.0.0.1:${upstreamPort}; }
         }
       }`,
    );
    return ['-e', 'stderr', '-p', folder, '-c', file];
  });
}

/** dnsdist over TLS in front of a DNS server. @param bound queries after which it closes a connection */
export function startDnsdist(
  certificate: TestCertificate,
  upstreamPort: number,
  bound: number,
): Promise<Peer> {
  return startPeer('dnsdist', 1, async ([port], folder) => {
    const file = join(folder, 'dnsdist.conf');
    const files = await writeCertificate(folder, certificate);
    await writeFile(
      file,
      `newServer({ address = "127.0.0.1:${upstreamPort}", healthCheckMode = "up" })
       addTLSLocal("127.0.0.1:${port}", "${files.cert}", "${files.key}")
       setMaxTCPQueriesPerConnection(${bound})`,
    );
    return ['--supervised', '--disable-syslog', '-C', file];
  });
}

async function writeCertificate(
  folder: string,
  { cert, key }: TestCertificate,
): Promise<TestCertificate> {
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  await writeFile(files.cert, cert);
  await writeFile(files.key, key);
  return files;
}

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { hostPort } from '../support/data/address.ts';
import { browse } from '../support/programs/chromium.ts';
import { freedom, httpIn, socksIn } from '../support/process/config.ts';
import { findPeer, without } from '../support/programs/peers.ts';
import { scratch, Weir } from '../support/process/weir.ts';

/** A page that is only right when its script, its picture and its frame have come. */
const PAGES: Readonly<Record<string, readonly [type: string, body: string]>> = {
  '/': [
    'text/html',
    `<title>A page</title><p id=a>plain</p><script src=script.js></script>
     <img src=dot.svg onload="document.body.append('picture ')"><iframe src=frame.html></iframe>`,
  ],
  '/script.js': ['text/javascript', `document.getElementById('a').textContent = 'by script';`],
  '/dot.svg': ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'],
  '/frame.html': ['text/html', `<script>parent.document.body.append('frame ')</script>`],
};

const serve: RequestListener = (request, response) => {
  const page = PAGES[request.url ?? ''];
  if (page) response.writeHead(200, { 'content-type': page[0] }).end(page[1]);
  else response.writeHead(404).end();
};

const PROXIES = [
  ['SOCKS5', 'socks', 'socks5'],
  ['SOCKS4', 'socks', 'socks4'],
  ['HTTP', 'http', 'http'],
] as const;

test('Chromium loads a page through each inbound', { skip: without('chromium') }, async (t) => {
  await using site = await listening(createHttpServer(serve));
  const config = socksIn() + httpIn() + freedom();
  await using weir = await Weir.start(config, { env: { RUST_LOG: 'debug' } });
  for (const [name, inbound, scheme] of PROXIES) {
    await t.test(`http:// over ${name}`, async () => {
      await load(weir, `http://127.0.0.1:${site.port}/`, inbound, scheme);
    });
  }
  await t.test('http:// by name over SOCKS5', async () => {
    await load(weir, `http://localhost:${site.port}/`, 'socks', 'socks5');
  });

  await t.test('https://', { skip: without('openssl') }, async (t2) => {
    await using folder = await scratch();
    await using secure = await listening(createHttpsServer(certificate(folder.path), serve));
    for (const [name, inbound, scheme] of PROXIES) {
      await t2.test(`over ${name}`, async () => {
        const url = `https://127.0.0.1:${secure.port}/`;
        await load(weir, url, inbound, scheme, ['--ignore-certificate-errors']);
      });
    }
  });
});

async function load(
  weir: Weir,
  url: string,
  inbound: string,
  scheme: string,
  flags: readonly string[] = [],
): Promise<void> {
  const logged = weir.child.stderr.length;
  const page = await browse(url, `${scheme}://${hostPort(weir.address(inbound))}`, flags);
  for (const part of ['by script', 'picture', 'frame']) assert.ok(page.includes(part), page);
  // The proxy reports the destination, so Chromium did not bypass it.
  const { port } = new URL(url);
  await weir.child.until(
    'the destination',
    ({ stderr }) => stderr.includes(`:${port}`, logged) || undefined,
  );
}

/** A throw-away certificate for 127.0.0.1. */
function certificate(folder: string): { readonly key: Buffer; readonly cert: Buffer } {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const request = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
  ];
  const subject = [
    '-days',
    '2',
    '-subj',
    '/CN=127.0.0.1',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
  ];
  const files = ['-keyout', key, '-out', cert];
  const openssl = findPeer('openssl') ?? 'openssl';
  execFileSync(openssl, [...request, ...subject, ...files], { stdio: 'pipe' });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

async function listening(server: Server): Promise<AsyncDisposable & { readonly port: number }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      if ('closeAllConnections' in server && typeof server.closeAllConnections === 'function') {
        server.closeAllConnections();
      }
      await once(server, 'close');
    },
  };
}

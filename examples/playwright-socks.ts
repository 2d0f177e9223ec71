/**
 * Chromium through a SOCKS proxy that asks for a password, which Chromium cannot send: Weir logs in for it.
 *
 *     node playwright-socks.ts
 */
import { chromium } from 'playwright-core';
import { Weir } from 'weir-engine';
import { startOrigin } from './origin.ts';

await using origin = await startOrigin((_, response) => {
  response.setHeader('content-type', 'text/html').end('<title>Hello from the origin</title>');
});

// The proxy with a password. It is Weir as well, but could be any other.
await using upstream = await Weir.start({
  config: {
    inbound: [
      {
        tag: 'in',
        protocol: 'socks',
        port: 0,
        settings: { auth: 'password', accounts: [{ user: 'ann', pass: 'secret' }] },
      },
    ],
    outbound: [{ tag: 'direct', protocol: 'freedom' }],
  },
});
const port = upstream.listeners()[0]?.port ?? 0;

await using weir = await Weir.start({
  config: {
    inbound: [{ tag: 'browser', protocol: 'socks', port: 0 }],
    outbound: [
      {
        tag: 'upstream',
        protocol: 'socks',
        server: '127.0.0.1',
        port,
        settings: { user: 'ann', pass: 'secret' },
      },
    ],
  },
});
const [local] = weir.listeners();

const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  // Without `<-loopback>` Chromium visits this host without a proxy.
  proxy: { server: `socks5://127.0.0.1:${local?.port}`, bypass: '<-loopback>' },
});
try {
  const page = await browser.newPage();
  await page.goto(origin.url);
  console.log(await page.title());
  console.log(
    upstream.connections().flows.some(({ user }) => user === 'ann') ? 'by ann' : 'direct',
  );
} finally {
  await browser.close();
}

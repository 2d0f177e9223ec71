import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostPort, type Address } from '../support/data/address.ts';
import { tcpServer, type Origin } from '../support/peers/servers.ts';
import { Child } from '../support/process/child.ts';
import { freedom, httpIn } from '../support/process/config.ts';
import { scratch, Weir } from '../support/process/weir.ts';
import { findProgram } from '../support/programs/peers.ts';

/*
 * Programs and libraries whose links have a name, a password and a fragment, all of which many of them send to a proxy
 * as they are; and what origins send that all of them, and other proxies, accept.
 */

const LOGIN = 'ann:c0rrect-horse';
const BODY = 'hello from the origin';

/** An origin that responds with what is at each path; `heads` are those that it has received. */
interface Recorder extends Origin {
  readonly heads: string[];
}

async function recorder(responses: Readonly<Record<string, string>>): Promise<Recorder> {
  const heads: string[] = [];
  const origin = await tcpServer((socket) => {
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) return;
      heads.push(received.slice(0, end));
      received = received.slice(end + 4);
      const [, path = ''] = heads.at(-1)?.split(' ') ?? [];
      socket.write(Buffer.from(responses[path] ?? NOT_FOUND, 'latin1'));
    });
    socket.on('end', () => socket.end());
  });
  return { ...origin, heads };
}

const NOT_FOUND = 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n';
const PAGE = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

const PYTHON = `python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())' "$LINK"`;
const PHP = `php -r '
  $c = ["http" => ["proxy" => "tcp://" . $argv[2], "request_fulluri" => true]];
  echo file_get_contents($argv[1], false, stream_context_create($c));' "$LINK" "$PROXY"`;
const LWP = `perl -e '
  use LWP::UserAgent; $u = LWP::UserAgent->new; $u->env_proxy; print $u->get($ARGV[0])->content;' "$LINK"`;
const TCL = `
  echo 'package require http; lassign $argv link host port
    http::config -proxyhost $host -proxyport $port; puts [http::data [http::geturl $link]]' >fetch.tcl
  tclsh fetch.tcl "$LINK" "\${PROXY%:*}" "\${PROXY##*:}"`;

/** What prints the page behind LINK through the HTTP proxy at PROXY, which `http_proxy` names as well. */
const PROGRAMS: readonly (readonly [name: string, command: string, line: string])[] = [
  ['curl', 'curl', 'curl -sS "$LINK"'],
  ['wget', 'wget', 'wget -qO- "$LINK"'],
  ['urllib of Python', 'python3', PYTHON],
  ['streams of PHP', 'php', PHP],
  ['LWP of Perl', 'perl', LWP],
  ['http of Tcl', 'tclsh', TCL],
  ['lynx', 'lynx', 'lynx -dump "$LINK"'],
  ['links', 'links', 'links -http-proxy "$PROXY" -dump "$LINK"'],
  ['w3m', 'w3m', 'w3m -dump "$LINK"'],
  ['aria2', 'aria2c', 'aria2c -q -o page "$LINK" && cat page'],
  ['lftp', 'lftp', 'lftp -c "set http:proxy http://$PROXY; cat $LINK"'],
];

const missing = (command: string): string | false =>
  findProgram(command) === undefined && `not installed: ${command}`;

/** Runs a line of a shell to its end, in an empty folder. */
async function fetched(line: string, link: string, proxy: Address): Promise<Child> {
  await using home = await scratch();
  const child = new Child('sh', ['-c', line], {
    cwd: home.path,
    env: {
      LINK: link,
      PROXY: hostPort(proxy),
      http_proxy: `http://${hostPort(proxy)}`,
      no_proxy: undefined,
      HOME: home.path,
    },
  });
  child.stdin.end();
  await child.exited;
  return child;
}

test('a link with a name, a password and a fragment is fetched, and origin and log see none of them', async (t) => {
  await using origin = await recorder({ '/a/b?c=d': PAGE });
  await using weir = await Weir.start(httpIn() + freedom(), { env: { RUST_LOG: 'trace' } });
  const link = `http://${LOGIN}@${hostPort(origin)}/a/b?c=d#part`;
  for (const [name, command, line] of PROGRAMS) {
    await t.test(name, { skip: missing(command) }, async (each) => {
      origin.heads.length = 0;
      const child = await fetched(line, link, weir.address('http'));
      if (/Can't locate LWP|can't find package http/.test(child.stderr)) {
        each.skip(`no library for it: ${child.stderr}`);
        return;
      }
      assert.match(child.stdout, new RegExp(BODY), child.stderr);
      assert.ok(origin.heads.length > 0);
      for (const head of origin.heads) {
        assert.match(head, /^GET \/a\/b\?c=d HTTP\/1\.1\r\n/);
        assert.match(head, new RegExp(`\\r\\nHost: ${hostPort(origin)}(\\r\\n|$)`));
        assert.doesNotMatch(head, /c0rrect-horse|#part/);
      }
    });
  }
  assert.match(weir.child.stderr, / DEBUG /);
  assert.doesNotMatch(weir.child.stderr, /c0rrect-horse|ann|part/);
});

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const SIZE = BODY.length.toString(16);
const SIZED = `Content-Length: ${BODY.length}\r\n\r\n${BODY}`;

/** Responses that curl, tinyproxy 1.11, Privoxy 3.0.34, sing-box 1.14, Xray 26.7 and mihomo take, most also squid 5.7. */
const ODD_RESPONSES: Readonly<Record<string, string>> = {
  'blanks after the sizes of chunks': `${CHUNKED}${SIZE}    \r\n${BODY}\r\n0    \r\n\r\n`,
  'a tab after the size of a chunk': `${CHUNKED}${SIZE}\t\r\n${BODY}\r\n0\r\n\r\n`,
  '300 trailers': `${CHUNKED}${SIZE}\r\n${BODY}\r\n0\r\n${'X-T: 1\r\n'.repeat(300)}\r\n`,
  '250 cookies': `${OK}${'Set-Cookie: a=b\r\n'.repeat(250)}${SIZED}`,
  '4,000 cookies': `${OK}${'Set-Cookie: a=b\r\n'.repeat(4000)}${SIZED}`,
  'a head of 200 KB': `${OK}${`Set-Cookie: a=${'x'.repeat(1000)}\r\n`.repeat(200)}${SIZED}`,
  'a name with a space': `${OK}X Y: z\r\n${SIZED}`,
  'two spaces before its status': `HTTP/1.1  200 OK\r\n${SIZED}`,
  'a control character in its reason': `HTTP/1.1 200 O\x01K\r\n${SIZED}`,
  'HTTP/2.0 in its status line': `HTTP/2.0 200 OK\r\n${SIZED}`,
  'a folded line': `${OK}X: a\r\n b\r\n${SIZED}`,
  'a space before a colon': `${OK}Content-Length : ${BODY.length}\r\n\r\n${BODY}`,
  'bare line feeds': `HTTP/1.1 200 OK\nContent-Length: ${BODY.length}\n\n${BODY}`,
};

test('responses that other proxies pass on reach curl, wget and Python, where each takes them', async (t) => {
  await using weir = await Weir.start(httpIn() + freedom());
  const proxy = weir.address('http');
  for (const [what, response] of Object.entries(ODD_RESPONSES)) {
    await t.test(what, async () => {
      await using origin = await recorder({ '/': response });
      const link = `http://${hostPort(origin)}/`;
      const curl = await fetched('curl -sS -m 20 "$LINK"', link, proxy);
      assert.equal(curl.stdout, BODY, curl.stderr);
      // Python reads 100 lines at most.
      if (/cookies|head/.test(what)) return;
      const python = await fetched(PYTHON, link, proxy);
      assert.equal(python.stdout, `${BODY}\n`, python.stderr);
      const wget = await fetched('wget -qO- --tries=1 "$LINK"', link, proxy);
      assert.equal(wget.stdout, BODY, wget.stderr);
    });
  }
});

test('a response with an invalid first chunk becomes a 502, and the connection goes on', async () => {
  await using origin = await recorder({ '/': `${CHUNKED}zz\r\n`, '/next': PAGE });
  await using weir = await Weir.start(httpIn() + freedom());
  const each = `-o /dev/null -w '%{http_code} %{num_connects}\\n'`;
  const { stdout, stderr } = await fetched(
    `curl -sS ${each} "$LINK" ${each} "\${LINK}next"`,
    `http://${hostPort(origin)}/`,
    weir.address('http'),
  );
  assert.equal(stdout, '502 1\n200 0\n', stderr);
});

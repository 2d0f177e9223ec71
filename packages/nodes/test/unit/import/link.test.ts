import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decoded, fromBase64, Link } from '../../../../proxy/src/protocols/forms/link.ts';
import { isHttpProxy } from '../../../../proxy/src/protocols/http/forms.ts';
import { withPlainPlace } from '../../../../proxy/src/protocols/socks/forms.ts';
import { isLinkList } from '../../../src/import/links/share-links.ts';
import '../../../../../test/support/import/load-forms.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('an encoded text', () => {
  test('is percent-decoded when all of it can be', () => {
    for (const [text, plain] of [
      ['Caf%C3%A9', 'Café'],
      ['100%', '100%'],
      ['%FF%20', '%FF%20'],
      ['', ''],
    ] as const) {
      assert.equal(decoded(text), plain);
    }
  });

  test('is base64 of either alphabet, padded or not, over several lines', () => {
    for (const [text, plain] of [
      ['YTpi', 'a:b'],
      ['YTpiYw==', 'a:bc'],
      ['YTpiYw', 'a:bc'],
      [' YTpi\r\nYw== \n', 'a:bc'],
      ['fn5-', '~~~'],
      ['fn5+', '~~~'],
      ['Pz8/', '???'],
      ['Pz8_', '???'],
    ] as const) {
      assert.equal(fromBase64(text), plain);
    }
  });

  test('is nothing when it is no base64, or none of text', () => {
    for (const text of ['', ' ', 'YTpi===', '=YTpi', 'YT:pi', 'a.b', '/w==', '====']) {
      assert.equal(fromBase64(text), undefined, text);
    }
  });
});

describe('a link', () => {
  test('has its parts where a URI has them, whatever they hold', () => {
    const link = new Link('VLESS://u@s%40er@[2001:db8::1]:443/path?a=1&a=2&b=x%26y&c=?d#n#%C3%A9');
    assert.equal(link.scheme, 'vless');
    assert.equal(link.credentials, 'u@s%40er');
    assert.equal(link.user, 'u@s@er');
    assert.deepEqual(link.place, { name: 'n#é', server: '2001:db8::1', port: 443 });
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((key) => link.get(key)),
      ['1', 'x&y', '?d', undefined],
    );
  });

  test('may have a host alone, and is named by a parameter then', () => {
    for (const [text, server, name] of [
      ['x://a.example', 'a.example', ''],
      ['x://a.example?remarks=n', 'a.example', 'n'],
      ['x://a.example?remark=m', 'a.example', 'm'],
      ['x://a.example?remarks=n#', 'a.example', 'n'],
      ['x://a.example?remarks=n#o', 'a.example', 'o'],
      ['x://a.example / ', 'a.example', ''],
      ['x://[2001:db8::1]', '2001:db8::1', ''],
      ['x://[2001:db8::]', '2001:db8::', ''],
      ['x://b%C3%BCcher.example', 'bücher.example', ''],
      ['x://100%.example', '100%.example', ''],
    ] as const) {
      const link = new Link(text);
      assert.deepEqual([link.server, link.name, link.user], [server, name, '']);
      assert.equal(link.hasPort, false);
      assert.throws(() => link.port, { name: 'ImportError', message: 'it has no port' });
    }
  });

  test('has a port behind the bracket of an address', () => {
    assert.deepEqual(new Link('x://[2001:db8::]:443').place, {
      name: '',
      server: '2001:db8::',
      port: 443,
    });
  });

  test('without a host is refused, and one with several ports', () => {
    for (const text of ['x://', 'x://:443', 'x://u@:443', 'x:///path', 'x://?a=1', 'x://[]:1']) {
      assert.throws(() => new Link(text), { name: 'ImportError', message: 'it has no host' }, text);
    }
    for (const text of ['x://a:1-2', 'x://a:1,2']) {
      assert.equal(new Link(text).hasPort, true);
      assert.throws(() => new Link(text).port, { message: /port hopping/ });
    }
  });

  test('has the first of several parameters that is not empty', () => {
    const link = new Link('x://a?sni=&peer=p&one=1&yes=TRUE&no=0&other=yes');
    assert.equal(link.get('sni', 'peer'), 'p');
    assert.equal(link.get('sni'), undefined);
    assert.equal(link.get('none'), undefined);
    assert.deepEqual(
      ['one', 'yes', 'no', 'other', 'none'].map((key) => link.flag(key)),
      [true, true, false, false, false],
    );
  });

  test('has a user where it needs one', () => {
    assert.equal(new Link('x://u@a').needUser('id'), 'u');
    for (const text of ['x://a', 'x://@a']) {
      assert.throws(() => new Link(text).needUser('id'), { message: 'it has no id' });
    }
  });

  test('has the carrier and the security of its parameters', () => {
    const stream = (parameters: string, fallback: 'tls' | 'none' = 'none'): unknown =>
      new Link(`x://a?${parameters}`).stream(fallback);
    assert.equal(stream(''), undefined);
    assert.equal(stream('headerType=none&security=none', 'tls'), undefined);
    const tls = { server_name: undefined, allow_insecure: undefined, ca_file: undefined };
    assert.deepEqual(stream('', 'tls'), { network: 'tls', tls });
    assert.deepEqual(stream('security=tls&peer=s&insecure=1'), {
      network: 'tls',
      tls: { ...tls, server_name: 's', allow_insecure: true },
    });
    assert.deepEqual(stream('security=tls&sni=s&peer=p&allowInsecure=true'), {
      network: 'tls',
      tls: { ...tls, server_name: 's', allow_insecure: true },
    });
    const ws = { network: 'ws', security: undefined, tls: undefined };
    assert.deepEqual(stream('type=ws&path=/p&host=h&ed=2048'), {
      ...ws,
      ws: { path: '/p?ed=2048', host: 'h' },
    });
    for (const ed of ['', '0', 'x']) {
      assert.deepEqual(stream(`type=ws&ed=${ed}`), { ...ws, ws: { path: '/', host: undefined } });
    }
    assert.deepEqual(stream('type=grpc&serviceName=s&authority=a'), {
      ...ws,
      network: 'grpc',
      grpc: { service_name: 's', authority: 'a' },
    });
    for (const parameters of ['headerType=http', 'security=reality', 'security=xtls']) {
      assert.throws(() => stream(parameters), { name: 'ImportError', message: /not supported$/ });
    }
  });
});

describe('a URL', () => {
  test('is an HTTP proxy with a port or a user, and nothing of a document', () => {
    for (const text of [
      'http://a.example:8080',
      'HTTPS://a.example:8443/',
      'https://u:p@a.example',
      'http://a.example:8080?sni=a&peer=b&allowInsecure=1&insecure=0#n',
    ]) {
      assert.equal(isHttpProxy(text), true, text);
    }
  });

  test('is a document otherwise', () => {
    for (const text of [
      'http://a.example',
      'http://a.example/',
      'http://a.example:8080/sub',
      'https://u:p@a.example/sub',
      'http://a.example:8080?token=1',
      'http://a.example:8080?sni=a&token=1',
      'http://',
      'http://a b:1',
      'ftp://a.example:21',
      'xhttp://a.example:1',
      'http:/a.example:1',
    ]) {
      assert.equal(isHttpProxy(text), false, text);
    }
  });
});

describe('a link in base64 as a whole', () => {
  test('becomes one in plain form, with its parameters and its name', () => {
    for (const [plain, after, link] of [
      ['u:p@a:1', '#n', 'socks://u:p@a:1#n'],
      ['u:p@a:1', '?remarks=n#m', 'socks://u:p@a:1?remarks=n#m'],
      ['u:p@a:1', '/?remarks=n', 'socks://u:p@a:1?remarks=n'],
      ['u:p@q:r@a:1', '', 'socks://u:p%40q%3Ar@a:1'],
      ['u@a:1', '', 'socks://u@a:1'],
      ['a:1', '', 'socks://a:1'],
      ['@a:1', '', 'socks://@a:1'],
      [':p@a:1', '', 'socks://:p@a:1'],
    ] as const) {
      assert.equal(withPlainPlace(`socks://${base64(plain)}${after}`), link);
    }
  });

  test('is one already when it has an @ in front of its parameters, or is no base64', () => {
    for (const text of [
      'socks://a:1',
      `socks://${base64('u:p')}@a:1`,
      'socks://YTpi/x@a:1',
      'socks://a.example',
      'socks://YWJj',
      'socks://',
    ]) {
      assert.equal(withPlainPlace(text), text);
    }
    assert.equal(withPlainPlace('socks://YTox?x=@'), 'socks://a:1?x=@');
    assert.equal(withPlainPlace('socks://YTox#@'), 'socks://a:1#@');
  });
});

describe('a list of links', () => {
  test('begins with a URI and has a link to a server, in any case, after comments', () => {
    for (const text of [
      'vless://x',
      'VMESS://x',
      '\n# c\n// c\n  ss://x  ',
      'tuic://a\nhy2://x',
      'https://a/sub\nsocks5h://a',
      'http://a:1',
    ]) {
      assert.equal(isLinkList(text), true, text);
    }
  });

  test('is none without either', () => {
    for (const text of [
      '',
      '\n',
      '# vless://x',
      '// vless://x',
      'tuic://a',
      'https://a/sub',
      'x\nvless://x',
      ' x vless://x',
      '1x://a\nvless://x',
      'xvless//x',
      'a: vless://x',
    ]) {
      assert.equal(isLinkList(text), false, text);
    }
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Protocol } from '@weir/proxy/protocols';
import { Finding, SettingsFinding } from '../../src/findings.ts';
import { lowerSettings } from '../../src/tables/protocol-side.ts';
import { InputFiles } from '../../src/sources/input-files.ts';
import { lowerListen } from '../../src/tables/inbound.ts';
import { device, lines } from '../../../../test/support/peers/own-session-protocol.ts';
import { fakeFiles } from '../../../../test/support/config/support.ts';

const span = { start: 3, end: 4 };

function listenOf(name: string, { inbound }: Protocol, listen: string | undefined, port?: number) {
  assert.ok(inbound);
  const keys = {
    listen: listen === undefined ? undefined : { value: listen, span },
    port: port === undefined ? undefined : { value: port, span },
  };
  return lowerListen(keys, { subject: 'inbound in', protocol: name, side: inbound }, span);
}

describe('an inbound whose listener owns its sessions', () => {
  test('listens on a UDP port as others do on a TCP port', () => {
    const udp = lines();
    assert.deepEqual(listenOf('lines', udp, undefined, 443), {
      kind: 'ip',
      host: '127.0.0.1',
      port: 443,
    });
    assert.deepEqual(listenOf('lines', udp, 'a.example', 0), {
      kind: 'name',
      host: 'a.example',
      port: 0,
    });
    assert.throws(() => listenOf('lines', udp, '::'), { message: 'port is required' });
  });

  test('does not listen on a unix socket', () => {
    assert.throws(() => listenOf('lines', lines(), '/run/weir.sock'), {
      message: 'protocol lines needs a UDP port, so listen must not be a unix socket',
      span,
    });
  });

  test('has neither an address nor a port when it is a device', () => {
    assert.deepEqual(listenOf('device', device(), undefined), { kind: 'none' });
    assert.throws(() => listenOf('device', device(), '127.0.0.1', 1), {
      message: 'protocol device has no address; remove listen',
      span,
    });
    assert.throws(() => listenOf('device', device(), undefined, 1), {
      message: 'protocol device has no address; remove port',
    });
  });
});

describe('a file that settings name', () => {
  const decode = (files: InputFiles, path: string) => () =>
    lowerSettings('inbound in', () =>
      Buffer.from(files.content({ value: path, span }, 'cannot read cert_file')).toString(),
    );

  test('is read between two passes, and its content is what the settings are made of', async () => {
    const files = new InputFiles();
    assert.throws(decode(files, 'cert.pem'), Finding);
    assert.ok(await files.readWanted(fakeFiles({ 'cert.pem': 'PEM' })));
    assert.equal(decode(files, 'cert.pem')(), 'PEM');
    assert.ok(!(await files.readWanted(fakeFiles())));
  });

  test('that cannot be read is an error of kind io, with its path and without a place', async () => {
    const files = new InputFiles();
    assert.throws(decode(files, 'cert.pem'), Finding);
    await files.readWanted(fakeFiles());
    assert.throws(decode(files, 'cert.pem'), (error: unknown) => {
      assert.ok(error instanceof SettingsFinding);
      assert.equal(error.kind, 'io');
      assert.equal(
        error.message,
        'inbound in: cannot read cert_file cert.pem: no such file or directory',
      );
      return true;
    });
  });
});

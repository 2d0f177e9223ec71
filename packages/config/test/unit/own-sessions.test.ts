import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SettingsFinding } from '../../src/findings.ts';
import { lowerSettings } from '../../src/tables/protocol-side.ts';
import { InputFiles } from '../../src/sources/input-files.ts';
import { lowerListen } from '../../src/tables/inbound.ts';
import type { Protocol } from '@weir/proxy/protocols';
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
  const decoded = async (given: Readonly<Record<string, string>>): Promise<string> => {
    const named = { contents: new Set(['cert.pem']), digests: new Set<string>() };
    const files = await InputFiles.read(named, fakeFiles(given));
    return lowerSettings('inbound in', () =>
      Buffer.from(files.content({ value: 'cert.pem', span }, 'cannot read cert_file')).toString(),
    );
  };

  test('is read before, and its content is what the settings are made of', async () => {
    assert.equal(await decoded({ 'cert.pem': 'PEM' }), 'PEM');
  });

  test('that cannot be read is an error of kind io, with its path and without a place', async () => {
    await assert.rejects(decoded({}), (error: unknown) => {
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

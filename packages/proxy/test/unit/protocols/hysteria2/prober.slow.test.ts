import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Http3Request } from '@weir/http/http3';
import { MasqueradeSite } from '../../../../src/protocols/hysteria2/server/masquerade.ts';
import { Bench } from '../../../../../../test/support/protocols/hysteria2/harness.ts';
import {
  authentication,
  fieldOf,
} from '../../../../../../test/support/protocols/hysteria2/requests.ts';

describe('what a prober sees', () => {
  const get: Http3Request = {
    method: 'GET',
    scheme: 'https',
    authority: 'hy.example',
    path: '/',
    fields: [],
  };

  test('is one response, whatever it requests', async () => {
    const bench = new Bench();
    await bench.listen();
    const { http } = await bench.prober();
    for (const request of [
      get,
      { ...get, method: 'HEAD' },
      { ...get, method: 'DELETE', path: '/auth' },
      { ...get, method: 'POST', authority: 'hysteria', path: '/' },
      { ...authentication(), method: 'GET' },
      { ...authentication(), authority: 'hy.example' },
      authentication({ 'hysteria-auth': 'wrong' }),
      authentication({ 'hysteria-auth': '' }),
    ]) {
      assert.deepEqual(await http.request(request), {
        status: 404,
        fields: [
          { name: 'content-type', value: 'text/plain' },
          { name: 'date', value: 'Thu, 01 Jan 2026 00:00:00 GMT' },
          { name: 'content-length', value: '13' },
        ],
      });
    }
  });

  test('is a final response, also where the status is that of an interim one', async () => {
    for (const [status, interim] of [
      [100, 100],
      [103, 103],
      [199, 199],
      // HTTP/3 does not have it (RFC 9114 §4.5).
      [101, undefined],
    ] as const) {
      const bench = new Bench();
      await bench.listen({ masquerade: { status, body: 'soon\n', contentType: 'text/plain' } });
      const { http } = await bench.prober();
      const response = await http.request(get);
      assert.deepEqual([response.status, fieldOf(response, 'content-length')], [200, '5']);
      const site = new MasqueradeSite({ status, body: '', contentType: 'text/plain' }, bench.clock);
      assert.equal(site.respond().interim, interim);
    }
  });

  test('changes with a reload', async () => {
    const bench = new Bench();
    const listener = await bench.listen();
    const { http } = await bench.prober();
    const masquerade = { status: 204, body: '', contentType: 'text/html; charset=ütf' };
    listener.swap(bench.server({ masquerade }), bench.registry);
    const { status, fields } = await http.request(get);
    assert.equal(status, 204);
    assert.deepEqual(fields[0], {
      name: 'content-type',
      value: Buffer.from('text/html; charset=ütf').toString('latin1'),
    });
    assert.equal(fieldOf({ fields }, 'content-length'), undefined);
  });
});

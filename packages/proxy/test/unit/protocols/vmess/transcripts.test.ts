import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { linkPair } from '@weir/io/links';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { connectTo, neverAborted } from '../../../../../../test/support/protocols/socks/harness.ts';
import { inbound, outbound } from '../../../../../../test/support/protocols/vmess/harness.ts';
import { readAll, readExactly } from '../../../../../../test/support/read-link.ts';
import {
  ACCEPTED_BY_V2RAY,
  SENT_BY_OTHERS,
} from '../../../../../../test/support/protocols/vmess/transcripts.ts';

describe('what v2ray accepted', () => {
  for (const { security, seconds, port, request, answer, payload } of ACCEPTED_BY_V2RAY) {
    test(`is what an outbound sends, and what v2ray answered is read: ${security}`, async () => {
      const [near, far] = linkPair();
      const clock = new ManualClock(0, seconds * 1000);
      const { outbound: out } = outbound(near, { security, clock, seed: security });
      const link = await out.connect({ host: '127.0.0.1', port }, neverAborted());
      await link.write(Buffer.from('hello'));
      await link.closeWrite();
      assert.equal((await readAll(far)).toString('hex'), request.join(''));
      await far.write(Buffer.from(answer, 'hex'));
      assert.equal(String(await readAll(link)), payload);
    });

    test(`is accepted by an inbound: ${security}`, async () => {
      const fixture = inbound(new ManualClock(0, seconds * 1000));
      const { client, served } = connectTo(fixture);
      for (const part of request) await client.write(Buffer.from(part, 'hex'));
      await readAll(client);
      assert.equal(await served, undefined);
      const [stream] = fixture.dispatcher.streams;
      assert.deepEqual(stream?.destination, { host: '127.0.0.1', port });
    });
  }
});

describe('what other clients send', () => {
  for (const { peer, security, seconds, bytes } of SENT_BY_OTHERS) {
    const said = Buffer.from(bytes, 'hex');

    test(`is accepted once: ${peer}, ${security}`, async () => {
      const fixture = inbound(new ManualClock(0, seconds * 1000));
      const first = connectTo(fixture);
      await first.client.write(said);
      // The header of the answer, the echo in a chunk of at least 2 + 16 bytes.
      await readExactly(first.client, 18 + 20 + 18 + 'GET / HTTP/1.0\r\n\r\n'.length);
      assert.deepEqual(fixture.dispatcher.streams[0]?.destination, {
        host: 'example.com',
        port: 443,
      });
      const again = connectTo(fixture);
      await again.client.write(said);
      await again.client.closeWrite();
      assert.match(String(await again.served), /sent before/);
      assert.equal(fixture.dispatcher.streams.length, 1);
    });

    for (const skew of [-121, 122]) {
      test(`is refused when clocks are ${skew} s apart: ${peer}, ${security}`, async () => {
        const fixture = inbound(new ManualClock(0, (seconds + skew) * 1000));
        const { client, served } = connectTo(fixture);
        await client.write(said);
        await client.closeWrite();
        assert.match(String(await served), /clock .* off by/);
        assert.equal(fixture.dispatcher.streams.length, 0);
      });
    }
  }
});

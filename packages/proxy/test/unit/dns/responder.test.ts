import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decode, encode, type Answer, type DecodedPacket } from 'dns-packet';
import * as fc from 'fast-check';
import type { DnsAnswer, DnsService } from '../../../src/dns/backend.ts';
import type { RawQuestion } from '../../../src/dns/message.ts';
import type { AddressRecordType } from '../../../src/dns/policy.ts';
import { respond } from '../../../src/dns/responder.ts';
import { DialError } from '@weir/io';

const never = new AbortController().signal;

const OPT: Answer = {
  name: '.',
  type: 'OPT',
  udpPayloadSize: 4096,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
};

/** A resolver that knows a few names, and what it was asked. */
class Service implements DnsService {
  readonly asked: string[] = [];
  readonly forwarded: Buffer[] = [];
  reply: Buffer | DialError = new DialError('unsupported', 'addresses alone');

  lookup(
    name: string,
    type: AddressRecordType,
    _signal?: AbortSignal,
    client?: string,
  ): Promise<DnsAnswer> {
    this.asked.push(`${type} ${name} for ${client}`);
    if (name === 'www.example') {
      const addresses = type === 'A' ? ['192.0.2.1', '192.0.2.2'] : ['2001:db8::1'];
      return Promise.resolve({ addresses, ttl: 60 });
    }
    if (name === 'alias.example') {
      const aliases = ['other.example', 'odd\\.label.www.example'];
      return Promise.resolve({ addresses: ['192.0.2.1', '192.0.2.2'], ttl: 60, aliases });
    }
    if (name === 'lost.example') {
      return Promise.resolve({ addresses: [], absent: true, ttl: 5, aliases: ['gone.example'] });
    }
    if (name === 'crowd.example') {
      const addresses = Array.from({ length: 4093 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
      return Promise.resolve({ addresses, ttl: 60 });
    }
    if (name === 'v4.example') return Promise.resolve({ addresses: [], ttl: 5 });
    if (name === 'many.example') {
      const addresses = Array.from({ length: 100 }, (_, i) => `192.0.2.${i}`);
      return Promise.resolve({ addresses, ttl: 60 });
    }
    if (name === 'broken.example') return Promise.reject(new DialError('timed_out', 'no answer'));
    return Promise.resolve({ addresses: [], absent: true, ttl: 5 });
  }

  forward({ bytes }: RawQuestion): Promise<Buffer> {
    this.forwarded.push(Buffer.from(bytes));
    const { reply } = this;
    return reply instanceof DialError ? Promise.reject(reply) : Promise.resolve(reply);
  }
}

interface Ask {
  readonly name?: string;
  readonly type?: string;
  readonly class?: 'IN' | 'CH';
  readonly edns?: Answer | undefined;
  readonly datagram?: boolean;
  readonly change?: (query: Buffer) => Buffer;
}

const RECURSION_DESIRED = 0x100;

async function ask(service: Service, options: Ask = {}): Promise<Buffer | undefined> {
  const { name = 'www.example', type = 'A', edns, datagram = true, change } = options;
  const questions = [{ name, type: type as 'A', class: options.class ?? 'IN' }];
  const query = encode({
    type: 'query',
    id: 0x1234,
    flags: RECURSION_DESIRED,
    questions,
    additionals: edns ? [edns] : [],
  });
  return respond(change?.(query) ?? query, service, { address: '10.0.0.9', datagram }, never);
}

/** The package decodes the code of a response, which its types leave out. */
type Response = DecodedPacket & { readonly rcode: string };

async function answer(service: Service, options: Ask = {}): Promise<Response> {
  const response = await ask(service, options);
  assert.ok(response);
  return decode(response) as Response;
}

const dataOf = ({ answers = [] }: DecodedPacket): unknown[] =>
  answers.map((record) => ('data' in record ? record.data : undefined));

describe('the responder', () => {
  test('answers addresses with the id, the question and the time that they are kept', async () => {
    const service = new Service();
    const response = await answer(service, { name: 'WWW.Example' });
    assert.equal(response.id, 0x1234);
    assert.equal(response.type, 'response');
    assert.ok(response.flag_rd && response.flag_ra && !response.flag_aa && !response.flag_tc);
    assert.deepEqual(response.questions, [{ name: 'WWW.Example', type: 'A', class: 'IN' }]);
    assert.deepEqual(dataOf(response), ['192.0.2.1', '192.0.2.2']);
    assert.equal(
      response.answers?.[0] && 'ttl' in response.answers[0] && response.answers[0].ttl,
      60,
    );
    assert.deepEqual(response.additionals, []);
    assert.deepEqual(dataOf(await answer(service, { type: 'AAAA' })), ['2001:db8::1']);
    assert.deepEqual(service.asked, [
      'A www.example for 10.0.0.9',
      'AAAA www.example for 10.0.0.9',
    ]);
  });

  test('tells a name without such addresses from one that does not exist', async () => {
    const service = new Service();
    const none = await answer(service, { name: 'v4.example', type: 'AAAA' });
    assert.deepEqual([none.rcode, none.answers], ['NOERROR', []]);
    const absent = await answer(service, { name: 'none.example' });
    assert.deepEqual([absent.rcode, absent.answers], ['NXDOMAIN', []]);
  });

  test('a resolver that fails is a failure of the server', async () => {
    assert.equal((await answer(new Service(), { name: 'broken.example' })).rcode, 'SERVFAIL');
  });

  test('speaks EDNS only to those that do', async () => {
    const response = await answer(new Service(), { edns: OPT });
    const [opt] = response.additionals ?? [];
    assert.equal(opt?.type === 'OPT' && opt.udpPayloadSize, 1232);
    const version: Answer = { ...OPT, ednsVersion: 1 };
    const bad = await ask(new Service(), { edns: version });
    assert.ok(bad);
    assert.equal((bad.readUInt16BE(2) & 0xf) | ((bad.at(-6) ?? 0) << 4), 16);
  });

  test('knows EDNS by the first additional record alone, which must be whole', async () => {
    const key: Answer = { name: 'key', type: 'A', ttl: 0, data: '192.0.2.9' };
    const other = await answer(new Service(), { name: 'many.example', edns: key });
    assert.deepEqual([other.rcode, other.flag_tc, other.additionals], ['NOERROR', true, []]);
    const cut = await answer(new Service(), {
      edns: OPT,
      change: (query) => query.subarray(0, -1),
    });
    assert.deepEqual([cut.rcode, cut.questions], ['FORMERR', []]);
  });

  test('a response that does not fit its datagram asks for a stream', async () => {
    const service = new Service();
    const small = await ask(service, { name: 'many.example' });
    assert.ok(small && small.length <= 512);
    assert.ok(decode(small).flag_tc);
    const large = await ask(service, { name: 'many.example', edns: OPT });
    assert.ok(large && large.length <= 1232 && decode(large).flag_tc);
    const whole = await answer(service, { name: 'many.example', datagram: false });
    assert.equal(whole.answers?.length, 100);
    assert.ok(!whole.flag_tc);
  });

  test('answers with the aliases on the way, the last of which owns the addresses', async () => {
    const service = new Service();
    const response = await ask(service, { name: 'alias.example', edns: OPT });
    assert.ok(response);
    const { answers = [], rcode } = decode(response) as Response;
    assert.equal(rcode, 'NOERROR');
    assert.deepEqual(
      answers.map((record) => ('data' in record ? [record.name, record.type, record.data] : [])),
      [
        ['alias.example', 'CNAME', 'other.example'],
        ['other.example', 'CNAME', 'odd.label.www.example'],
        ['odd.label.www.example', 'A', '192.0.2.1'],
        ['odd.label.www.example', 'A', '192.0.2.2'],
      ],
    );
    // Both dots of the package stand for one within a label.
    assert.ok(response.includes(Buffer.from('\x09odd.label\x03www', 'latin1')));
    const lost = await answer(service, { name: 'lost.example' });
    assert.equal(lost.rcode, 'NXDOMAIN');
    assert.deepEqual(dataOf(lost), ['gone.example']);
  });

  test('answers with as many addresses as fit a message', async () => {
    const whole = await ask(new Service(), { name: 'crowd.example', datagram: false });
    assert.equal(whole?.readUInt16BE(6), 4093);
    const tooMany = await ask(new Service(), {
      name: 'crowd.example',
      datagram: false,
      edns: OPT,
    });
    assert.ok(tooMany && tooMany.length <= 65_535);
  });

  test('looks at no address of thousands that cannot fit a datagram', async () => {
    const service = new Service();
    // Each would be an error, once it is read.
    const addresses = Array.from({ length: 4000 }, () => 'unread');
    service.lookup = () => Promise.resolve({ addresses, ttl: 60 });
    const response = await answer(service, { edns: OPT });
    assert.ok(response.flag_tc);
    assert.equal(response.rcode, 'NOERROR');
  });

  test('passes on other types, and the answer without the additional records', async () => {
    const service = new Service();
    service.reply = encode({
      type: 'response',
      id: 0,
      flags: 0x0180,
      questions: [{ name: 'example', type: 'MX', class: 'IN' }],
      answers: [
        {
          name: 'example',
          type: 'MX',
          ttl: 30,
          data: { preference: 10, exchange: 'mail.example' },
        },
      ],
      additionals: [{ name: 'mail.example', type: 'A', ttl: 30, data: '192.0.2.3' }, OPT],
    });
    const response = await answer(service, { name: 'example', type: 'MX' });
    assert.equal(response.id, 0x1234);
    assert.deepEqual(dataOf(response), [{ preference: 10, exchange: 'mail.example' }]);
    assert.deepEqual(response.additionals, []);
    const asked = encode({ type: 'query', questions: [{ name: 'example', type: 'MX' }] });
    assert.deepEqual(service.forwarded, [asked.subarray(12)]);
    const withEdns = await answer(service, { name: 'example', type: 'MX', edns: OPT });
    assert.equal(withEdns.additionals?.[0]?.type, 'OPT');
  });

  test('a passed on answer that does not fit its datagram asks for a stream', async () => {
    const service = new Service();
    const texts = Array.from({ length: 5 }, () => 'x'.repeat(120));
    service.reply = encode({
      type: 'response',
      id: 0,
      flags: 0x0180,
      questions: [{ name: 'example', type: 'TXT', class: 'IN' }],
      answers: texts.map((data) => ({ name: 'example', type: 'TXT', ttl: 30, data })),
    });
    const cut = await answer(service, { name: 'example', type: 'TXT' });
    assert.deepEqual([cut.flag_tc, cut.rcode, cut.answers], [true, 'NOERROR', []]);
    for (const options of [{ edns: OPT }, { datagram: false }]) {
      const whole = await answer(service, { name: 'example', type: 'TXT', ...options });
      assert.ok(!whole.flag_tc);
      assert.deepEqual(dataOf(whole).map(String), texts);
    }
  });

  test('a passed on answer that ends within a record gives its code, or a failure of the server', async () => {
    const service = new Service();
    for (const [flags, rcode] of [
      [0x0180, 'SERVFAIL'],
      [0x0183, 'NXDOMAIN'],
      [0x0185, 'REFUSED'],
    ] as const) {
      const reply = encode({
        type: 'response',
        id: 0,
        flags,
        questions: [{ name: 'example', type: 'TXT', class: 'IN' }],
        answers: [{ name: 'example', type: 'TXT', ttl: 30, data: 'text' }],
      });
      reply.writeUInt16BE(flags | 0x8000, 2);
      for (const length of [12, 20, 25, 30, reply.length - 1]) {
        service.reply = reply.subarray(0, length);
        const response = await answer(service, { name: 'example', type: 'TXT' });
        assert.deepEqual([response.rcode, response.answers], [rcode, []], `${length}`);
      }
    }
  });

  test('addresses of what is no host name are passed on as well', async () => {
    for (const name of ['a b.example', '.']) {
      const service = new Service();
      await answer(service, { name });
      assert.equal(service.forwarded.length, 1);
      assert.deepEqual(service.asked, []);
    }
  });

  test('no name is an address', async () => {
    const service = new Service();
    assert.equal((await answer(service, { name: '192.0.2.1' })).rcode, 'NXDOMAIN');
    assert.deepEqual([...service.asked, ...service.forwarded], []);
  });

  test('a host whose resolver gives addresses alone says so of other types', async () => {
    assert.equal((await answer(new Service(), { type: 'TXT' })).rcode, 'NOTIMP');
  });

  test('refuses whole zones and other classes, and does not know other operations', async () => {
    const service = new Service();
    assert.equal((await answer(service, { type: 'AXFR' })).rcode, 'REFUSED');
    assert.equal((await answer(service, { class: 'CH', type: 'TXT' })).rcode, 'REFUSED');
    const change = (query: Buffer): Buffer => {
      query.writeUInt16BE(0x2000, 2);
      return query;
    };
    assert.equal((await answer(service, { change })).rcode, 'NOTIMP');
    assert.deepEqual([...service.asked, ...service.forwarded], []);
  });

  test('a malformed query gets FORMERR, a response and a piece of a header get nothing', async () => {
    const service = new Service();
    const cut = (query: Buffer): Buffer => query.subarray(0, 20);
    const response = await answer(service, { change: cut });
    assert.deepEqual([response.rcode, response.questions], ['FORMERR', []]);
    const two = (query: Buffer): Buffer => {
      query.writeUInt16BE(2, 4);
      return query;
    };
    assert.equal((await answer(service, { change: two })).rcode, 'FORMERR');
    assert.equal(await ask(service, { change: (query) => query.subarray(0, 11) }), undefined);
    const reversed = (query: Buffer): Buffer => {
      query.writeUInt16BE(0x8100, 2);
      return query;
    };
    assert.equal(await ask(service, { change: reversed }), undefined);
  });

  test('any bytes get a response that fits, or none', async () => {
    const service = new Service();
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 200, size: 'max' }),
        fc.uint8Array(),
        async (bytes, reply) => {
          service.reply = Buffer.from([...bytes.subarray(0, 12), ...reply]);
          if (service.reply.length < 12) service.reply = Buffer.alloc(12);
          const asker = { address: undefined, datagram: true };
          const response = await respond(bytes, service, asker, never);
          assert.ok(response === undefined || response.length <= 1232);
          if (response) assert.equal(response.readUInt16BE(0), Buffer.from(bytes).readUInt16BE(0));
        },
      ),
    );
  });

  test('any query with a question that is passed on gets a response, whatever the server says', async () => {
    const service = new Service();
    const question = Buffer.from('0001000000000000076578616d706c650000100001', 'hex');
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 12, maxLength: 600, size: 'max' }),
        async (reply) => {
          service.reply = Buffer.from(reply);
          const query = Buffer.concat([Buffer.from([1, 2, 1, 0]), question.subarray(0)]);
          const asker = { address: undefined, datagram: false };
          const response = await respond(query, service, asker, never);
          assert.equal(response?.readUInt16BE(0), 0x0102);
        },
      ),
    );
  });
});

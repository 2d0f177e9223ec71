import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { describe, test } from 'node:test';
import { encode, decode, streamDecode, streamEncode } from 'dns-packet';
import { disposable, open } from '../support/data/address.ts';
import { Child } from '../support/process/child.ts';
import { blackhole, freedom, rule } from '../support/process/config.ts';
import { Control } from '../support/process/control.ts';
import { curl } from '../support/programs/curl.ts';
import { inOwnNetwork } from '../support/netns/own-network.ts';
import { Datagrams } from '../support/netns/program.ts';
import { FAR, PORT, Site, useNameServer } from '../support/netns/site.ts';
import { TUN, tunConfig } from '../support/netns/tun-config.ts';
import { readExactly } from '../support/read.ts';
import { eventually } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';
import { shared } from '../support/shared.ts';

const CONFIG =
  `[dns]\nbackend = "udp"\nserver = "${FAR.host}:${PORT.names}"\n` +
  tunConfig(freedom() + blackhole(), { inbound: 'sniffing = true' }) +
  rule('block', 'domain_suffix = ["blocked.far.test"]') +
  rule('direct', 'domain_suffix = ["far.test"]');

const query = (name: string): Buffer =>
  encode({ type: 'query', id: 77, flags: 256, questions: [{ type: 'A', name }] });

inOwnNetwork(import.meta.url, () => {
  describe('names behind a TUN inbound', () => {
    let weir: Weir;
    let control: Control;

    shared(async (use) => {
      use(await Site.make());
      weir = use(await Weir.start(CONFIG));
      control = await Control.of(weir);
    });

    for (const server of [TUN.resolver, `[${TUN.resolver6}]`, TUN.host, `[${TUN.host6}]`]) {
      test(`are resolved by [dns] at ${server}, port 53`, async () => {
        const resolver = new Resolver();
        resolver.setServers([server]);
        assert.deepEqual(await resolver.resolve4('www.far.test'), [FAR.host]);
        assert.deepEqual(await resolver.resolve6('www.far.test'), [FAR.host6]);
        await assert.rejects(resolver.resolve4('absent.example'), { code: /ENODATA|ENOTFOUND/ });
      });
    }

    const ways = (['udp', 'tcp'] as const).flatMap((network) =>
      [TUN.resolver, TUN.host].map((server) => ({ network, server })),
    );
    for (const { network, server } of ways) {
      test(`are resolved over ${network} at ${server} as flows without an outbound`, async () => {
        await using datagrams = await Datagrams.open();
        using socket = disposable(await open({ host: server, port: 53 }));
        if (network === 'udp') {
          await datagrams.send(query('www.far.test'), 53, server);
        } else {
          socket.write(
            streamEncode({
              type: 'query',
              id: 77,
              questions: [{ type: 'A', name: 'www.far.test' }],
            }),
          );
        }
        const response = await (async () => {
          if (network === 'udp') {
            const { data } = await eventually('a response', () => datagrams.received[0]);
            return decode(data);
          }
          const length = await readExactly(socket, 2);
          const body = await readExactly(socket, length.readUInt16BE());
          return streamDecode(Buffer.concat([length, body]));
        })();
        assert.deepEqual(
          response.answers?.map((answer) => ('data' in answer ? answer.data : undefined)),
          [FAR.host],
        );
        const flows = await control.flowsTo(server);
        const flow = flows.findLast((one) => one.network === network);
        assert.ok(flow);
        const { session, source, outbound, outbound_version, rule, port } = flow;
        assert.deepEqual(
          { session, source, outbound, outbound_version, rule, port },
          {
            session: null,
            source: TUN.host,
            outbound: '',
            outbound_version: 0,
            rule: null,
            port: 53,
          },
        );
      });
    }

    test('queries that come at once are answered each by its own response', async () => {
      await using datagrams = await Datagrams.open();
      const COUNT = 20;
      for (let id = 0; id < COUNT; id++) {
        const message = query('www.far.test');
        message.writeUInt16BE(id);
        await datagrams.send(message, 53, TUN.resolver);
      }
      await eventually('the responses', () => datagrams.received.length === COUNT);
      const ids = datagrams.received.map(({ data }) => decode(data).id ?? -1);
      assert.deepEqual(
        ids.sort((a, b) => a - b),
        Array.from({ length: COUNT }, (_, id) => id),
      );
    });

    test('programs find them by resolv.conf, and rules by what is sniffed', async () => {
      useNameServer(TUN.resolver);
      const page = await curl([`http://www.far.test/`]);
      assert.equal(page.code, 0, page.stderr);
      assert.match(page.text, /A page/);
      // Its destination is the same address; the name is in the request alone.
      const blocked = await curl(['http://blocked.far.test/']);
      assert.notEqual(blocked.code, 0);
      await using getent = new Child('getent', ['ahostsv4', 'www.far.test']);
      await getent.exited;
      assert.match(getent.stdout, new RegExp(`^${FAR.host} +STREAM www\\.far\\.test$`, 'm'));
    });

    test('programs get the canonical name of an alias, and every address of a name', async () => {
      useNameServer(TUN.resolver);
      await using alias = new Child('getent', ['ahosts', 'alias.far.test']);
      await alias.exited;
      assert.match(alias.stdout, / STREAM canonical\.far\.test$/m);
      await using crowd = new Child('getent', ['ahostsv4', 'crowd.far.test']);
      await crowd.exited;
      assert.equal(crowd.stdout.match(/ STREAM /g)?.length, 40);
    });

    test('a response that does not fit a datagram is truncated, and whole over tcp', async () => {
      await using datagrams = await Datagrams.open();
      await datagrams.send(query('crowd.far.test'), 53, TUN.resolver);
      await eventually('the response', () => datagrams.received.length === 1);
      const [small] = datagrams.received.map(({ data }) => decode(data));
      assert.ok(small?.flag_tc);
      assert.deepEqual(small.answers, []);
      using socket = disposable(await open({ host: TUN.resolver, port: 53 }));
      socket.write(
        streamEncode({
          type: 'query',
          id: 7,
          flags: 256,
          questions: [{ type: 'A', name: 'crowd.far.test' }],
        }),
      );
      const length = (await readExactly(socket, 2)).readUInt16BE(0);
      const whole = decode(await readExactly(socket, length));
      assert.ok(!whole.flag_tc);
      assert.equal(whole.answers?.length, 40);
    });

    test('a flow shows the name that was sniffed, and its address as its host', async () => {
      using socket = disposable(await open({ host: FAR.host, port: PORT.http }));
      socket.write('GET / HTTP/1.1\r\nHost: www.far.test\r\n\r\n');
      await readExactly(socket, 12);
      const flow = await eventually('the flow', async () => {
        return (await control.flowsTo(FAR.host)).find(({ port }) => port === PORT.http);
      });
      assert.deepEqual([flow.sniffed, flow.rule], ['www.far.test', 1]);
    });
  });
});

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { UsageError } from '@weir/base';
import { explainerOf, explainFlow } from '../../../src/explain/explain-flow.ts';
import { parseFlow } from '../../../src/explain/flow.ts';
import { loadRoutes } from '../../../src/explain/load-routes.ts';
import { freedom, proxyOut, rule, socksIn } from '../../../../../test/support/process/config.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const CONFIG = [
  socksIn('desk'),
  freedom(),
  proxyOut('west', 'socks', { host: '192.0.2.1', port: 1080 }),
  rule('west', 'source_cidr = ["10.0.0.0/8"]'),
  rule('west', 'domain_keyword = ["ads"]'),
].join('\n');

describe('the route of a flow', () => {
  test('one explainer serves any number of flows', async () => {
    await using folder = await scratch();
    const file = join(folder.path, 'weir.toml');
    await writeFile(file, CONFIG);
    const routes = await loadRoutes(file);
    const explainer = explainerOf(routes);
    const explain = (to: string, from?: string) =>
      explainFlow(parseFlow(to, { from }), routes, explainer);
    assert.equal(explain('example.com:443', '10.0.0.1').answer.rule, 0);
    assert.equal(explain('ads.example:443', '10.0.0.1').answer.rule, 0);
    assert.equal(explain('ads.example:443', '192.0.2.9').answer.rule, 1);
    const { answer, notes } = explain('example.com:443');
    assert.deepEqual(
      [answer.outbound, answer.rule, answer.passed_over.length],
      ['direct', null, 2],
    );
    assert.deepEqual(notes, [
      {
        text: 'this depends on the client, which was assumed to be 127.0.0.1',
        option: 'from',
      },
    ]);
  });

  test('an invalid property is named as the caller writes it', () => {
    assert.throws(
      () => parseFlow('a:1', { from: 'x' }),
      (error) => error instanceof UsageError && error.message.startsWith('from needs'),
    );
    assert.throws(
      () => parseFlow('a:1', { from: 'x' }, '--'),
      (error) => error instanceof UsageError && error.message.startsWith('--from needs'),
    );
  });
});

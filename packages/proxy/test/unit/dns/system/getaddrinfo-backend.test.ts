import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settled } from 'node:timers/promises';
import { GetaddrinfoBackend, type HostLookup } from '../../../../src/dns/system/host-backend.ts';

type Call = { readonly name: string; readonly family: number };

/** A getaddrinfo(3) with one dual-stack name, and a name that fails temporarily. */
function host(): { calls: Call[]; lookup: HostLookup } {
  const calls: Call[] = [];
  const lookup: HostLookup = (name, { family }, callback) => {
    calls.push({ name, family });
    if (name !== 'both.example') {
      const code = name === 'busy.example' ? 'EAI_AGAIN' : 'ENOTFOUND';
      callback(Object.assign(new Error(`getaddrinfo ${code}`), { code }), []);
      return;
    }
    const all = [
      { address: '2001:db8::1', family: 6 },
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
    ];
    callback(
      null,
      all.filter((each) => family === 0 || each.family === family),
    );
  };
  return { calls, lookup };
}

test('both families asked together are one call of the host', async () => {
  const { calls, lookup } = host();
  const backend = new GetaddrinfoBackend(lookup);
  const [a, aaaa] = await Promise.all([
    backend.query('both.example', 'A'),
    backend.query('both.example', 'AAAA'),
  ]);
  assert.deepEqual(a, { addresses: ['192.0.2.1', '192.0.2.2'], ttl: 60 });
  assert.deepEqual(aaaa, { addresses: ['2001:db8::1'], ttl: 60 });
  assert.deepEqual(calls, [{ name: 'both.example', family: 0 }]);
});

test('one family asked alone is all that the host is asked for', async () => {
  const { calls, lookup } = host();
  const backend = new GetaddrinfoBackend(lookup);
  await backend.query('both.example', 'A');
  await backend.query('both.example', 'AAAA');
  assert.deepEqual(calls, [
    { name: 'both.example', family: 4 },
    { name: 'both.example', family: 6 },
  ]);
});

test('a name that does not exist is an answer that holds for 5 s', async () => {
  const backend = new GetaddrinfoBackend(host().lookup);
  assert.deepEqual(await backend.query('absent.example', 'A'), { addresses: [], ttl: 5 });
});

test('a resolver that cannot say now is a failure, not an absent name', async () => {
  const backend = new GetaddrinfoBackend(host().lookup);
  await assert.rejects(backend.query('busy.example', 'A'), {
    code: 'upstream',
    message: "the host's resolver: getaddrinfo EAI_AGAIN",
  });
});

test('the real resolver of the host answers for an address in text', async () => {
  const answer = await new GetaddrinfoBackend().query('127.0.0.1', 'A');
  assert.deepEqual(answer.addresses, ['127.0.0.1']);
});

/** A getaddrinfo(3) with two threads whose calls are answered by hand. */
function twoThreads() {
  const calls: { readonly name: string; readonly answer: () => void }[] = [];
  const lookup: HostLookup = (name, { family }, callback) => {
    const version = family === 6 ? 6 : 4;
    const address = version === 6 ? '2001:db8::1' : '192.0.2.1';
    calls.push({ name, answer: () => callback(null, [{ address, family: version }]) });
  };
  const names = (): string[] => calls.map(({ name }) => name);
  return { calls, names, backend: new GetaddrinfoBackend(lookup, 2) };
}

test('what all questions have left before its turn is never looked up', async () => {
  const { calls, names, backend } = twoThreads();
  const never = new AbortController().signal;
  const dead = ['dead1', 'dead2'].map((name) => backend.query(name, 'A', never));
  const left = [new AbortController(), new AbortController()];
  const gone = left.map(({ signal }) =>
    assert.rejects(backend.query('left.example', 'A', signal), { code: 'aborted' }),
  );
  const shared = new AbortController();
  const one = assert.rejects(backend.query('shared.example', 'A', shared.signal));
  const other = backend.query('shared.example', 'A', never);
  for (const each of left) each.abort();
  shared.abort();
  await Promise.all([...gone, one]);
  assert.deepEqual(names(), ['dead1', 'dead2']);
  for (const call of calls.slice()) call.answer();
  await Promise.all(dead);
  assert.deepEqual(names(), ['dead1', 'dead2', 'shared.example']);
  calls[2]?.answer();
  assert.deepEqual((await other).addresses, ['192.0.2.1']);
});

test('one name takes one thread however often it is asked', async () => {
  const { calls, names, backend } = twoThreads();
  const first = backend.query('dead', 'A');
  await settled();
  const again = Array.from({ length: 5 }, () => backend.query('dead', 'A'));
  const healthy = backend.query('healthy', 'A');
  await settled();
  assert.deepEqual(names(), ['dead', 'healthy']);
  calls[1]?.answer();
  assert.deepEqual((await healthy).addresses, ['192.0.2.1']);
  calls[0]?.answer();
  await Promise.all([first, ...again]);
});

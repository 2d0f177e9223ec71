import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourceFiles, sourceText } from '../../tools/architecture/imports.ts';

const EXPORTED_TYPE = /^export (?:abstract )?(?:class|interface|type) (\w+)/gm;

/** Names that stand for one type in each of several rooms that never meet, with the reason. */
const SHARED_NAMES: Readonly<Record<string, string>> = {
  Command:
    'the word of each protocol for the field of its request; and of a program for its subcommands',
  DropReason: 'why a core dropped a packet: each core has a trace of its own',
  FrameReader: 'HTTP/2, HTTP/3 and QUIC have frames, each in a room of its own',
  Method: 'the word of SOCKS for authentication, and of Shadowsocks for ciphers',
  Trace: 'see DropReason',
  TraceEvent: 'see DropReason',
};

test('a name that is exported for two types has a reason', async () => {
  const files = new Map<string, Set<string>>();
  for (const path of await sourceFiles()) {
    for (const [, name = ''] of sourceText(path).matchAll(EXPORTED_TYPE)) {
      files.set(name, (files.get(name) ?? new Set<string>()).add(path));
    }
  }
  const shared = [...files].filter(([, where]) => where.size > 1).map(([name]) => name);
  assert.deepEqual(shared.sort(), Object.keys(SHARED_NAMES));
});

test('no docstring begins with "Of"', async () => {
  for (const path of await sourceFiles()) {
    assert.doesNotMatch(sourceText(path), /\/\*\*\s+(\*\s+)?Of\b/, path);
  }
});

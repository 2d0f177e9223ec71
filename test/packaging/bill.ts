import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { OWN, pinnedNode } from '../../packaging/manifest.ts';
import { ROOT } from '../../packaging/root.ts';
import { Child } from '../support/process/child.ts';
import { within } from '../support/wait.ts';
import { digestOf } from './members.ts';

/** As much of a CycloneDX document as is looked at. */
export interface Bill {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly metadata: { readonly component: BillComponent; readonly timestamp: string };
  readonly components: readonly BillComponent[];
  readonly dependencies: readonly {
    readonly ref: string;
    readonly dependsOn?: readonly string[];
  }[];
}

export interface BillComponent {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly scope?: string;
  readonly purl?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly { readonly license: { readonly id: string } }[];
  readonly components?: readonly BillComponent[];
}

export const parseBill = (text: string): Bill => JSON.parse(text) as Bill;

/** @param path the file that the bill is of */
export async function checkBill(text: string, path: string): Promise<void> {
  const bill = parseBill(text);
  assert.deepEqual([bill.bomFormat, bill.specVersion], ['CycloneDX', '1.6']);
  assert.match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab]/);
  const { component } = bill.metadata;
  assert.deepEqual([component.name, component.version], [OWN.name, OWN.version]);
  assert.equal(component.hashes?.[0]?.content, await digestOf(path));
  const references = bill.components.map((part) => part['bom-ref']);
  assert.equal(new Set(references).size, references.length);
  assert.deepEqual(bill.dependencies[0]?.dependsOn, references);
  const contained = bill.components.filter(({ scope }) => scope === 'required');
  for (const part of contained) {
    assert.match(part.purl ?? '', /^pkg:npm\/\S+@\d\S*$/, part.name);
    assert.match(
      part.hashes?.[0]?.content ?? '',
      /^[0-9a-f]{64,128}$/,
      `${part.name} has no digest`,
    );
    assert.ok(part.licenses?.[0]?.license.id, `${part.name} has no licence`);
  }
  const names = contained.map(({ group, name }) =>
    group === undefined ? name : `${group}/${name}`,
  );
  for (const name of ['@noble/ciphers', 'bufferutil', 'preact', 'uplot', 'yaml']) {
    assert.ok(names.includes(name), `${name} is not in ${names.join()}`);
  }
  const node = contained.find(({ type }) => type === 'platform');
  if (path.endsWith('.tgz')) {
    assert.equal(node, undefined);
    assert.ok(
      bill.components.some(({ name, scope }) => scope === 'optional' && name.startsWith('node-')),
    );
  } else {
    assert.equal(node?.version, pinnedNode('linux-x64').version);
    assert.ok(node?.components?.some(({ name, version }) => name === 'openssl' && version !== ''));
  }
}

const VALIDATE = `
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
sys.exit(str(error) if error else 0)
`;

/** By the validator of cyclonedx-python-lib, whose Python WEIR_CYCLONEDX_PYTHON names; `.venv` by default. */
export async function checkBySchema(t: TestContext, text: string): Promise<void> {
  const python = process.env['WEIR_CYCLONEDX_PYTHON'] ?? join(ROOT, '.venv/bin/python');
  const there = await access(python).then(
    () => true,
    () => false,
  );
  if (!there) return t.skip('there is no Python with cyclonedx-python-lib[json-validation]');
  await using probe = new Child(python, ['-c', 'import cyclonedx.validation.json, jsonschema']);
  if ((await within(probe.exited, 'a probe')).code !== 0) {
    return t.skip('there is no cyclonedx-python-lib[json-validation]');
  }
  await using child = new Child(python, ['-c', VALIDATE]);
  child.stdin.end(text);
  const { code } = await within(child.exited, 'the validator', 60_000);
  assert.equal(code, 0, child.stderr);
  return undefined;
}

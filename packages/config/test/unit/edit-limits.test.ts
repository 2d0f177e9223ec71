import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { removeLimit, setLimit } from '../../src/edit/limits/edit-limits.ts';
import { readLimitsFile } from '../../src/sources/read-tables.ts';
import { decodeSource } from '../../src/sources/decode-source.ts';

const source = (text: string) => decodeSource(Buffer.from(text), 'limits.toml');
const set = (text: string, ...[user, keys]: [string, Parameters<typeof setLimit>[2]]): string =>
  setLimit(source(text), user, keys);
const remove = (text: string, user: string): string => removeLimit(source(text), user);

const FILE = `# Friends
[[limit]]
user = "ann"   # the first
bytes = "100 GB"
reset = "monthly"

# Two of one family
[[limit]]
users = ["bob", "carol"]
bytes = "20 GB"
`;

describe('an edit of limits', () => {
  test('of a user called "*" leaves the entry of all accounts as it is', () => {
    const text = '[[limit]]\nuser = "*"\nbytes = "5 GB"\n';
    for (const before of [text, '']) {
      assert.throws(() => set(before, '*', { bytes: '1 GB' }), { code: 'all_accounts' });
    }
    assert.equal(remove(text, '*'), text);
  });

  test('begins a file', () => {
    const text = set('', 'ann', { bytes: '100GB', reset: 'monthly', devices: 3 });
    assert.equal(
      text,
      '[[limit]]\nuser = "ann"\nbytes = "100GB"\nreset = "monthly"\ndevices = 3\n',
    );
    assert.equal(remove(text, 'ann'), '');
    const both = set(text, 'bob', { devices: 1 });
    assert.equal(both, `${text}\n[[limit]]\nuser = "bob"\ndevices = 1\n`);
    assert.equal(remove(both, 'bob'), text);
    assert.equal(
      set('# Limits', 'ann', { up: '1 MB/s' }),
      '# Limits\n\n[[limit]]\nuser = "ann"\nup = "1 MB/s"',
    );
  });

  test('adds an entry after the last one, in its layout, and removes it without a trace', () => {
    const text = set(FILE, 'dave', { until: '2027-01-31' });
    assert.equal(text, `${FILE}\n[[limit]]\nuser = "dave"\nuntil = "2027-01-31"\n`);
    assert.equal(remove(text, 'dave'), FILE);
    const windows = FILE.replaceAll('\n', '\r\n');
    assert.equal(remove(set(windows, 'dave', { devices: 1 }), 'dave'), windows);
  });

  test('changes keys of an entry, and adds those that it lacks', () => {
    assert.equal(
      set(FILE, 'ann', { bytes: '200 GB', devices: 2 }),
      FILE.replace('"100 GB"', '"200 GB"').replace(
        'reset = "monthly"\n',
        'reset = "monthly"\ndevices = 2\n',
      ),
    );
  });

  test('removes an entry, and a name of several', () => {
    assert.equal(
      remove(FILE, 'ann'),
      '# Friends\n\n# Two of one family\n[[limit]]\nusers = ["bob", "carol"]\nbytes = "20 GB"\n',
    );
    assert.equal(remove(FILE, 'bob'), FILE.replace('"bob", ', ''));
    const alone = remove(FILE, 'bob');
    assert.equal(readLimitsFile(source(remove(alone, 'carol'))).accounts.has('carol'), false);
    assert.equal(remove(FILE, 'nobody'), FILE);
  });

  test('does not change the limits of others', () => {
    assert.throws(() => set(FILE, 'bob', { devices: 1 }), {
      code: 'shared_limit',
      message: 'the limits of "bob" are in one entry with those of others',
    });
    assert.equal(
      set(remove(FILE, 'carol'), 'bob', { bytes: '1 GB' }),
      remove(FILE, 'carol').replace('"20 GB"', '"1 GB"'),
    );
  });

  test('keeps the form of an inline list', () => {
    const inline = 'limit = [{ user = "ann", devices = 1 }]\n';
    const added = set(inline, 'bob', { devices: 2 });
    assert.equal(added, 'limit = [{ user = "ann", devices = 1 }, { user = "bob", devices = 2 }]\n');
    assert.equal(remove(added, 'bob'), inline);
    assert.equal(
      set(inline, 'ann', { devices: 3, up: '1 MB/s' }),
      'limit = [{ user = "ann", devices = 3, up = "1 MB/s" }]\n',
    );
  });

  test('refuses what is not a list of tables', () => {
    assert.throws(() => set('limit = 1', 'ann', { devices: 1 }), /`limit` is not a list of tables/);
    assert.throws(() => set('limit = [', 'ann', { devices: 1 }));
  });

  test('of any names in any order leaves the limits of all others as they were', () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
      .filter((each) => each.isWellFormed());
    const step = fc.record({ user: name, devices: fc.option(fc.integer({ min: 1, max: 1000 })) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const expected = new Map<string, number>();
        let text = '# limits\n';
        for (const { user, devices } of steps) {
          if (user === '*') continue;
          text = devices === null ? remove(text, user) : set(text, user, { devices });
          if (devices === null) expected.delete(user);
          else expected.set(user, devices);
          const { accounts } = readLimitsFile(source(text));
          assert.deepEqual(
            new Map(Array.from(accounts, ([key, rule]) => [key, rule.devices])),
            expected,
          );
        }
      }),
    );
  });
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { qrForTerminal, qrModules, qrSvg } from '../../../src/share/qr.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';
import { findPeer, without } from '../../../../../test/support/programs/peers.ts';

const LINK = 'trojan://p%20w@[2001:db8::1]:443?security=tls&sni=proxy.example.com&type=tcp#a%20b';

type Modules = readonly (readonly boolean[])[];

/** What a terminal shows: the halves of each character, from its block and the colours around it. */
function shownModules(text: string): Modules {
  return text
    .trimEnd()
    .split('\n')
    .flatMap((line) => {
      assert.ok(line.startsWith('\u001b[38;5;16;48;5;231m') && line.endsWith('\u001b[0m'));
      const characters = line
        .slice('\u001b[38;5;16;48;5;231m'.length, -'\u001b[0m'.length)
        .split('');
      return [
        characters.map((block) => block === '▀' || block === '█'),
        characters.map((block) => block === '▄' || block === '█'),
      ];
    });
}

/** The modules of the one path, which has a run of black in each of its parts. */
function drawnModules(svg: string): Modules {
  const size = Number(/viewBox="0 0 (\d+) /.exec(svg)?.[1]);
  const modules = Array.from({ length: size }, () => Array.from({ length: size }, () => false));
  for (const [, x, y, width] of svg.matchAll(/M(\d+) (\d+)h(\d+)v1H\d+z/g)) {
    modules[Number(y)]?.fill(true, Number(x), Number(x) + Number(width));
  }
  return modules;
}

/** A text that a reader of QR codes finds in a picture. */
async function decoded(modules: Modules): Promise<string> {
  const scale = 4;
  const width = (modules[0]?.length ?? 0) * scale;
  const rows = modules.flatMap((row) => {
    const pixels = Buffer.from(
      row.flatMap((isBlack) => Array<number>(scale).fill(isBlack ? 0 : 255)),
    );
    return Array<Buffer>(scale).fill(pixels);
  });
  await using folder = await scratch();
  const file = join(folder.path, 'code.pgm');
  const head = Buffer.from(`P5\n${width} ${rows.length}\n255\n`);
  writeFileSync(file, Buffer.concat([head, ...rows]));
  return execFileSync(findPeer('zbarimg') ?? '', ['--raw', '-q', file], { encoding: 'utf8' });
}

describe('a QR code', () => {
  const modules = qrModules(LINK);

  test('has a quiet zone of four modules on each side', () => {
    const size = modules.length;
    for (const at of [0, 1, 2, 3, size - 4, size - 1]) {
      assert.ok(modules[at]?.every((isBlack) => !isBlack));
      assert.ok(modules.every((row) => row[at] === false));
    }
    assert.equal(modules[4]?.[4], true);
  });

  test('is shown in two colours of its own, two modules on each character', () => {
    const shown = shownModules(qrForTerminal(modules));
    assert.deepEqual(shown.slice(0, modules.length), modules);
    assert.ok(shown.slice(modules.length).every((row) => row.every((isBlack) => !isBlack)));
  });

  test('is drawn module by module', () => {
    assert.deepEqual(drawnModules(qrSvg(modules)), modules);
  });

  test('holds 2,953 bytes, and names the size of a longer link', () => {
    assert.equal(qrModules('x'.repeat(2953)).length, 177 + 8);
    assert.throws(() => qrModules('x'.repeat(2954)), {
      code: 'share',
      message: 'the link has 2954 bytes, of which a QR code holds 2953: send the link itself',
    });
  });

  test(
    'is read by a reader, as a terminal shows it and as it is drawn',
    { skip: without('zbarimg') },
    async () => {
      assert.equal(await decoded(shownModules(qrForTerminal(modules))), `${LINK}\n`);
      const long = `${LINK}${'%E6%9D%B1'.repeat(60)}`;
      assert.equal(await decoded(drawnModules(qrSvg(qrModules(long)))), `${long}\n`);
    },
  );
});

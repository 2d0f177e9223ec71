import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFile, chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { executableObstacle } from '../../packaging/executable.ts';
import { deadLinksBelow } from '../support/docs/pages.ts';
import { scratch } from '../support/process/weir.ts';
import { builtForms, DEB } from './built.ts';
import { OtherRoot, withoutOtherRoot } from './other-root.ts';
import { finish, type Installed } from './installed.ts';
import { tryOut } from './trial.ts';
import { tryPrograms } from './try-programs.ts';
import { shared } from '../support/shared.ts';

/** A systemd that writes down what it is asked for. */
const RECORDER = '#!/bin/sh\necho "$(basename "$0") $*" >> /asked\n';

const CONFIG = '/etc/weir/weir.toml';

const skip = executableObstacle() ?? withoutOtherRoot();

describe('the Debian package', { skip }, () => {
  let folder: Awaited<ReturnType<typeof scratch>>;
  let root: OtherRoot;
  const at = (path: string): string => join(folder.path, path);
  const inRoot = (path: string): string => join(root.path, path);
  const installed = (): Installed => ({
    command: '/usr/bin/weir',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    prefix: root.prefix,
    folder: '/tmp/files',
    seenFolder: inRoot('tmp/files'),
  });
  const asked = async (): Promise<string> => {
    const text = await readFile(inRoot('asked'), 'utf8').catch(() => '');
    await writeFile(inRoot('asked'), '');
    return text;
  };

  shared(async (use) => {
    folder = use(await scratch());
    await mkdir(at('layer'));
    root = use(await OtherRoot.create(at('layer')));
    // Its index of every page of the machine takes seconds for each step.
    root.run('rm -f /usr/bin/mandb && ln -s /bin/true /usr/bin/mandb');
    await using forms = await builtForms();
    await copyFile(join(forms.path, DEB), inRoot('tmp/weir.deb'));
  });

  it('is installed with its user, its unit, its manual page and a configuration', async () => {
    root.run('dpkg -i --force-unsafe-io /tmp/weir.deb');
    assert.match(root.run('getent passwd weir'), /^weir:x:\d+:\d+:.*:\/usr\/sbin\/nologin$/m);
    assert.equal(root.run(`stat -c '%U:%G %a' ${CONFIG}`), 'root:weir 640\n');
    assert.equal(root.run('dpkg --verify weir'), '');
    root.run('test -e /usr/lib/systemd/system/weir.service');
    if (spawnSync('sh', ['-c', 'command -v man']).status === 0) {
      const page = root.run('man -P cat --warnings /usr/share/man/man1/weir.1.gz');
      assert.match(page, /weir ctl/);
      assert.doesNotMatch(page, /warning/);
    }
  });

  it('has a configuration that is valid and serves this machine alone', async () => {
    const { code, stdout } = await finish(installed(), ['--test', '--config', CONFIG]);
    assert.deepEqual([code, stdout], [0, 'Configuration OK.\n']);
    const listens = (await readFile(inRoot(CONFIG), 'utf8')).matchAll(/^listen = "([^"]+)"/gm);
    assert.deepEqual(
      new Set(Array.from(listens, ([, address]) => address)),
      new Set(['127.0.0.1', '/run/weir/api.sock']),
    );
  });

  it('has all that its pages link to', () => {
    assert.deepEqual(deadLinksBelow(inRoot('usr/share/doc/weir')), []);
  });

  it('has units that systemd accepts', (t) => {
    if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
      t.skip('there is no systemd-analyze');
      return;
    }
    for (const unit of [
      'weir.service',
      'weir@i.service',
      'weir-instances.service',
      'weir.socket',
      'weir-subscribe.service',
      'weir-subscribe.timer',
      'weir-usage.service',
      'weir-links.service',
    ]) {
      // A unit that it requires and that is not there is an error: `run` fails.
      const output = root.run(`systemd-analyze verify ${unit}`);
      assert.deepEqual(
        output.split('\n').filter((line) => line.includes('weir')),
        [],
      );
    }
  });

  it('runs', async (t) => tryOut(t, installed()));

  it('has the programs that show and steer it', async () => tryPrograms(installed()));

  it('runs as its user', async () => {
    const command = 'cd /etc/weir && exec setpriv --reuid weir --regid weir --clear-groups ';
    assert.match(
      root.run(`${command} /usr/bin/weir --test --config ${CONFIG}`),
      /^Configuration OK\.$/m,
    );
  });

  it('starts the service, and restarts it and those beside it with an upgrade', async () => {
    root.run('dpkg --purge weir');
    await mkdir(inRoot('run/systemd/system'), { recursive: true });
    for (const name of ['systemctl', 'deb-systemd-invoke']) {
      const path = inRoot(`usr/bin/${name}`);
      root.run(`rm -f /usr/bin/${name}`);
      await writeFile(path, RECORDER);
      await chmod(path, 0o755);
    }
    await asked();

    root.run('dpkg -i --force-unsafe-io /tmp/weir.deb');
    assert.match(await asked(), /^deb-systemd-invoke start weir\.service$/m);
    root.run('dpkg -i --force-unsafe-io /tmp/weir.deb');
    assert.match(
      await asked(),
      /^deb-systemd-invoke try-restart weir\.service weir-usage\.service weir-links\.service$/m,
    );
  });

  it('starts what is enabled when it is installed again after a removal', async () => {
    root.run('dpkg --remove weir');
    await asked();
    root.run('dpkg -i --force-unsafe-io /tmp/weir.deb');
    const text = await asked();
    assert.match(text, /^deb-systemd-invoke start weir\.service$/m);
    assert.match(text, /^deb-systemd-invoke start weir-usage\.service$/m);
    assert.doesNotMatch(text, /try-restart/);
  });

  it('leaves the service alone where the configuration has become invalid', async () => {
    await appendFile(inRoot(CONFIG), '\nsurplus = true\n');
    const output = root.run('dpkg -i --force-unsafe-io --force-confold /tmp/weir.deb');
    assert.match(output, /^weir: \/etc\/weir\/weir\.toml is not valid; the services are left/m);
    assert.doesNotMatch(await asked(), /deb-systemd-invoke/);
  });

  it('keeps the configuration on removal, and leaves nothing of its own on a purge', async () => {
    const enabled = '/etc/systemd/system';
    const unit = (name: string): string => `/usr/lib/systemd/system/${name}`;
    root.run(
      [
        `mkdir -p ${enabled}/multi-user.target.wants ${enabled}/weir-instances.service.wants`,
        `ln -s ${unit('weir-usage.service')} ${enabled}/multi-user.target.wants/`,
        `ln -s ${unit('weir@.service')} ${enabled}/weir-instances.service.wants/weir@1.service`,
        'install -m 640 -g weir /dev/null /etc/weir/key.pem',
      ].join(' && '),
    );
    root.run('dpkg --remove weir');
    assert.match(
      await asked(),
      /^deb-systemd-invoke stop weir\.socket weir-instances\.service weir\.service weir-subscribe\.timer weir-usage\.service weir-links\.service$/m,
    );
    root.run(`test ! -e /usr/bin/weir && grep -q surplus ${CONFIG}`);

    root.run('dpkg --purge weir');
    root.run('test ! -e /var/lib/weir && ! getent passwd weir');
    // The ids of its user are free for another one.
    assert.equal(root.run("stat -c '%U:%G %a' /etc/weir"), 'root:root 700\n');
    root.run('rm /etc/weir/key.pem && rmdir /etc/weir');
    const left = root.run('find /etc /usr /var/lib/systemd -name "*weir*" -newer /tmp/weir.deb');
    assert.equal(left, '');
  });
});

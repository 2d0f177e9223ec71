import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { checkAccessible } from '../support/browser/accessible.ts';
import { DashboardProcess } from '../support/browser/dashboard-process.ts';
import { Stage } from '../support/browser/stage.ts';
import { freedom, rule, socksIn } from '../support/process/config.ts';
import { FROM_SOURCE } from '../support/process/weir.ts';

const PASSWORD = 'S3cretS3cret';

const shadowsocks = (tag: string): string =>
  `[[outbound]]\ntag = "${tag}"\nprotocol = "shadowsocks"\nserver = "127.0.0.1"\nport = 1\n[outbound.settings]\nmethod = "aes-256-gcm"\npassword = "${PASSWORD}"\n`;

/** The second rule never matches, of which Weir warns. */
const CONFIG = `${socksIn()}${freedom('near')}${shadowsocks('spare')}[route]\ndefault = "near"\n${rule('near', 'domain_suffix = ["b.example"]')}${rule('spare', 'domain_suffix = ["a.b.example"]')}`;

const stage = new Stage({ config: CONFIG, flows: 2 });
const { skip } = stage;

const file = (): string => `${stage.weir.folder}/weir.toml`;

/** A window at the page Config, of which every response is searched for the password too. */
async function open(dashboard?: DashboardProcess) {
  const window = dashboard ? await stage.openBare({}, dashboard) : await stage.open();
  if (dashboard) await window.page.goto(await dashboard.newLink());
  window.forbid(PASSWORD);
  await window.page.locator('[data-health="Serving"]').waitFor();
  await window.evaluate('location.hash = "#/config"');
  await window.page.getByText('what is on disk is what runs').waitFor();
  return window;
}

test(
  'warnings with their places, and what is in force, with secrets starred',
  { skip },
  async () => {
    await using window = await open();
    const { page } = window;
    const check = page.getByRole('region', { name: 'Check of the files on disk' });
    await check.getByText('Valid, with 1 warning:').waitFor();
    const line = (await stage.readConfig()).split('\n').indexOf('outbound = "spare"') + 1;
    const warning = check.getByRole('listitem').filter({ hasText: 'never' });
    assert.match(await warning.innerText(), new RegExp(`weir\\.toml:${line}:`));
    await checkAccessible(page);
    await page.keyboard.press('/');
    await page.keyboard.type('password');
    const row = page.getByRole('row', { name: /password = "\*+"/ });
    await row.waitFor();
    const grid = page.getByRole('grid', { name: 'Effective configuration' });
    await grid.and(page.locator('[aria-rowcount="2"]')).waitFor();
  },
);

test(
  'a reload by keyboard: the difference before, the report after, and open flows go on',
  { skip },
  async () => {
    await using window = await open();
    const { page } = window;
    const before = await stage.readConfig();
    await writeFile(file(), before + freedom('far'));
    await page.getByText('what is on disk is not what runs').waitFor();
    await page.getByRole('button', { name: 'Difference…' }).click();
    const difference = page.getByRole('dialog', { name: 'What runs, and the file' });
    await difference.getByText(/^\+ +\d+ │ tag = "far"/).waitFor();
    assert.doesNotMatch(await difference.innerText(), /^− /m);
    await checkAccessible(page);
    await page.keyboard.press('Escape');
    await difference.waitFor({ state: 'detached' });

    const flows = (await stage.flows()).map(({ id }) => id);
    assert.equal(flows.length, 2);
    await page.keyboard.press('r');
    const report = page.getByRole('dialog', { name: 'Reloaded' });
    const built = report.getByRole('row', { name: /^built/ });
    await built.waitFor();
    assert.match(
      await built.innerText(),
      /outbound far@v1[^]*Made new\. New connections use it from now on/,
    );
    assert.match(
      await report.getByRole('row', { name: /^reused/ }).innerText(),
      /outbound near@v1[^]*Nothing happened to its connections/,
    );
    await checkAccessible(page);
    await page.keyboard.press('Enter');
    await report.waitFor({ state: 'detached' });
    assert.deepEqual(
      (await stage.flows()).map(({ id }) => id),
      flows,
    );

    // Earlier reports stay; a reload without a change says so.
    await page.getByText('what is on disk is what runs').waitFor();
    await page.getByRole('button', { name: 'Reload', exact: true }).click();
    await page.locator('.notice', { hasText: 'The files have not changed since' }).waitFor();
    const reloads = page.getByRole('region', { name: 'Table of reloads' });
    const rows = reloads.getByRole('row');
    await rows.filter({ hasText: '○ unchanged' }).waitFor();
    const applied = rows.filter({ hasText: '✓ applied' });
    assert.match(await applied.innerText(), /reload\s/);
    await applied.getByRole('button', { name: 'Report' }).click();
    await built.waitFor();
    await page.keyboard.press('Escape');
  },
);

test(
  'a refused reload shows its place and the lines around, and is undone byte for byte',
  { skip },
  async () => {
    await using window = await open();
    const { page } = window;
    const before = await stage.readConfig();
    const broken = before.replace(`password = "${PASSWORD}"`, `$&\nnonsense = "${PASSWORD}"`);
    const line = broken.split('\n').findIndex((text) => text.startsWith('nonsense')) + 1;
    await writeFile(file(), broken);
    const check = page.getByRole('region', { name: 'Check of the files on disk' });
    await check.getByText('A reload would be refused.').waitFor();
    await page.keyboard.press('r');
    const refused = page.getByRole('dialog', { name: 'The reload was refused' });
    await refused
      .getByText(new RegExp(`weir\\.toml:${line}:1`))
      .first()
      .waitFor();
    const lines = refused.getByLabel('Lines around the place');
    assert.match(await lines.innerText(), new RegExp(`^▶ +${line} │ nonsense = "\\*+"$`, 'm'));
    await checkAccessible(page);
    await page.keyboard.press('Escape');
    await refused.waitFor({ state: 'detached' });

    const box = page.getByRole('region', { name: 'Why the last reload was refused' });
    await box.waitFor();
    await check.getByText('A reload would be refused again.').waitFor();
    await page.locator('.state[data-state=reload-refused]').waitFor();
    const messages = page.locator('main', { hasText: 'Why it was refused' }).locator('pre.message');
    assert.equal(await messages.count(), 1, 'the message is there once');
    await window.goTo('#/now');
    // Elsewhere the box has it, in a font whose columns line up.
    const elsewhere = page.locator('.state[data-state=reload-refused] pre.message');
    await elsewhere.getByText('unknown field `nonsense`').waitFor();
    const font = await page.evaluate<string>(
      `getComputedStyle(document.querySelector('.state pre.message')).fontFamily`,
    );
    assert.match(font, /mono/i);
    await window.goTo('#/config');
    await box.getByText('Weir goes on with the configuration before it.').waitFor();
    await checkAccessible(page);
    await box.getByRole('button', { name: 'Undo: restore what runs…' }).click();
    const question = page.getByRole('dialog', { name: 'Restore the version that runs?' });
    assert.match(await question.innerText(), new RegExp(`^− +${line} │ nonsense = "\\*+"`, 'm'));
    await checkAccessible(page);
    // Another writer between the question and its answer keeps what it wrote.
    await writeFile(file(), broken + freedom('theirs'));
    await question.getByRole('button', { name: 'Restore and reload' }).click();
    await page.locator('.notice', { hasText: 'Nothing was restored' }).waitFor();
    assert.equal(await stage.readConfig(), broken + freedom('theirs'));

    await box.getByRole('button', { name: 'Undo: restore what runs…' }).click();
    await question.getByText('tag = "theirs"').waitFor();
    await question.getByRole('button', { name: 'Restore and reload' }).click();
    await page
      .locator('.notice', { hasText: 'The file is again the version that runs.' })
      .waitFor();
    await box.waitFor({ state: 'detached' });
    assert.equal(await stage.readConfig(), before);
  },
);

test('read-only shows the difference and refuses to reload or restore', { skip }, async () => {
  await using dashboard = await DashboardProcess.start(
    ['--config', file(), '--socket', stage.weir.controlPath, '--read-only'],
    FROM_SOURCE,
  );
  await using window = await open(dashboard);
  const { page } = window;
  const before = await stage.readConfig();
  await writeFile(file(), before + freedom('edited'));
  await page.getByText('what is on disk is not what runs').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Reload', exact: true }).isDisabled(), true);
  await page.getByRole('button', { name: 'Difference…' }).click();
  await page.getByRole('dialog').getByText('tag = "edited"').waitFor();
  await page.keyboard.press('Escape');
  for (const [name, parameters] of [
    ['config-reload', {}],
    ['config-restore', { from: '"a"', to: '"b"' }],
    ['route-pick', { group: 'default', target: 'spare', etag: '"a"', close: false }],
    ['route-undo', { etag: '"a"' }],
  ] as const) {
    const asked = `${JSON.stringify(name)}, ${JSON.stringify(parameters)}`;
    const code = await window.evaluate(
      `import('/dashboard/page/connection.ts').then(({ act }) => act(${asked})).then(() => 'done', ({ code }) => code)`,
    );
    assert.equal(code, 'read-only', name);
  }
  assert.equal(await stage.readConfig(), before + freedom('edited'));
  await writeFile(file(), before);
});

import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkAccessible } from '../support/browser/accessible.ts';
import { Stage, VIEWPORTS } from '../support/browser/stage.ts';
import { freedom, rule, socksIn } from '../support/process/config.ts';

const COUNT = 16_000;

/** Whether nothing can be scrolled sideways. */
const FITS = 'document.documentElement.scrollWidth <= innerWidth';

const CONFIG = [
  socksIn('socks', 'sniffing = true'),
  freedom(),
  freedom('other'),
  rule('other', 'cidr = ["0.0.0.0/0"]'),
  rule('other', 'domain_suffix = ["office.example"]\nport = ["443", "8443", "9443", "10443"]'),
  rule('direct', 'domain_suffix = ["example.com"]'),
  rule('other', 'domain_suffix = ["www.example.com"]'),
  ...Array.from({ length: COUNT }, (_, index) =>
    rule('direct', `domain_suffix = ["host-${index}.example"]`),
  ),
].join('\n');

const stage = new Stage({ config: CONFIG, flows: 2 });
const { skip } = stage;

test('rules are paged and searched, and only a window of them exists', { skip }, async () => {
  await using window = await stage.open({ at: '#/rules' });
  const { page } = window;
  const grid = page.getByRole('grid', { name: 'Rules' });
  await grid.getByText('office.example').waitFor();
  assert.equal(await grid.getAttribute('aria-rowcount'), String(COUNT + 4 + 1));
  assert.ok((await grid.getByRole('row').count()) <= 61);

  await page.keyboard.press('/');
  await page.keyboard.type('host-15999');
  await page.getByText('1 of 16,004 rules').waitFor();
  await grid.getByText('host-15999.example').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('1 of 16,004 rules').waitFor({ state: 'detached' });
  await page.getByText('16,004 rules').first().waitFor();

  await page.keyboard.press('End');
  await grid.getByText('host-15999.example').waitFor();
  assert.ok((await grid.getByRole('row').count()) <= 61);
});

test('a rule has its flows, and leads to them', { skip }, async () => {
  await using window = await stage.open({ at: '#/rules' });
  const { page } = window;
  const row = page.getByRole('row', { name: /0\.0\.0\.0\/0/ });
  await row.getByRole('gridcell', { name: '2', exact: true }).first().waitFor();
  await page.getByRole('grid', { name: 'Rules' }).focus();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  const sheet = page.getByRole('dialog');
  await sheet.getByText('2 open flows').waitFor();
  await sheet.getByRole('link', { name: 'Show its connections' }).click();
  await page.getByText('2 of 2 connections').waitFor();
  assert.match(page.url(), /rule%3A0/);
});

test('rules that never match have a warning', { skip }, async () => {
  await using window = await stage.open({ at: '#/rules' });
  const { page } = window;
  await page.getByRole('button', { name: '1 warning' }).click();
  const row = page.getByRole('row', { name: /www\.example\.com/ });
  await row.getByText('warning').waitFor();
  await row.click();
  await page
    .getByRole('dialog')
    .getByText(/route\.rule\[3\] never matches: route\.rule\[2\]/)
    .waitFor();
});

test('where a flow would go, by keys alone', { skip }, async () => {
  await using window = await stage.open({ at: '#/rules' });
  const { page } = window;
  await page.getByRole('grid', { name: 'Rules' }).waitFor();
  await page.keyboard.press('w');
  const sheet = page.getByRole('dialog', { name: 'Where would it go?' });
  await sheet.getByLabel('Destination').waitFor();
  await page.keyboard.type('www.office.example:8443');
  await page.keyboard.press('Enter');
  await sheet.getByText(/leads to/).waitFor();
  const text = await sheet.innerText();
  assert.match(text, /Rule 1 at weir\.toml:\d+ leads to\s+other/);
  assert.match(text, /domain_suffix\s+office\.example/);
  assert.match(text, /weir explain www\.office\.example:8443 --config/);
  assert.match(text, /assumed to be 127\.0\.0\.1|1 rule passed over/);

  await sheet.getByLabel('Destination').fill('nowhere');
  await page.keyboard.press('Enter');
  await sheet.getByText(/is not HOST:PORT/).waitFor();
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
});

test('thousands of rules that were passed over are paged', { skip }, async () => {
  await using window = await stage.open({ at: '#/rules?where=yes&to=nowhere.example%3A80' });
  const sheet = window.page.getByRole('dialog');
  await sheet.getByText('16,004 rules passed over').click();
  await sheet.getByText('1–60 of 16,004').waitFor();
  await sheet.getByRole('button', { name: 'Later' }).click();
  await sheet.getByText('61–120 of 16,004').waitFor();
  assert.equal(await sheet.locator('.passed li').count(), 60);
});

test('is accessible in both themes, and fits a phone', { skip }, async () => {
  await using window = await stage.open({ at: '#/rules' });
  const { page } = window;
  // axe-core sets styles.
  window.allowsErrors = true;
  await page.getByRole('grid').getByText('office.example').waitFor();
  await checkAccessible(page);
  await window.resize(VIEWPORTS.phone);
  await checkAccessible(page);
  assert.ok(await window.evaluate<boolean>(FITS), 'the list');
  await window.evaluate('location.hash = "#/rules?where=yes&to=example.com%3A443"');
  await page
    .getByRole('dialog')
    .getByText(/leads to/)
    .waitFor();
  await checkAccessible(page);
  assert.ok(await window.evaluate<boolean>(FITS), 'the form');
});

// Last: it changes the file.
test('says when the files differ from what is loaded', { skip }, async () => {
  await using window = await stage.open({ at: '#/rules' });
  const { page } = window;
  await page.getByRole('grid').getByText('office.example').waitFor();
  await appendFile(join(stage.weir.folder, 'weir.toml'), rule('other', 'port = ["81"]'));
  await page.getByText('The files have changed since Weir loaded them').waitFor();
  await page.getByText('16,005 rules').waitFor();
});

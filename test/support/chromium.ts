import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** A Chromium that is unpacked and can be started. */
export interface Chromium {
  executable: string;
  /** What its process needs beside the environment of this one. */
  environment: Record<string, string>;
}

const run = promisify(execFile);
const cacheFolder = fileURLToPath(new URL('../../node_modules/.cache/castellan', import.meta.url));

/**
 * The browser of @sparticuz/chromium, unpacked at its first use (two seconds, 210 MB) below
 * node_modules/.cache, where no other user can put one in its place.
 *
 * The package unpacks to fixed names in the temporary folder and takes a half-written file for a
 * whole one. So it works in a folder of its own here, which gets its final name in one step: test
 * files that start at the same moment do not see one another's work.
 */
export async function unpackChromium(): Promise<Chromium> {
  const folder = join(cacheFolder, `chromium-${await packageVersion()}`);
  const executable = join(folder, 'chromium');
  if (!(await exists(executable))) await unpackTo(folder);
  return {
    executable,
    environment: {
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
      LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
    },
  };
}

async function unpackTo(folder: string): Promise<void> {
  await mkdir(cacheFolder, { recursive: true });
  const draft = await mkdtemp(join(cacheFolder, 'unpacking-'));
  try {
    await run(process.execPath, ['--input-type=module', '--eval', UNPACK], {
      cwd: dirname(fileURLToPath(import.meta.url)),
      env: { ...process.env, TMPDIR: draft },
    });
    await writeFile(join(draft, 'fonts.conf'), fontsConfiguration(folder));
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process was first: its browser is as good.
    if (!(await exists(join(folder, 'chromium')))) throw error;
  }
}

/** The libraries that the browser needs are a separate archive, meant for one cloud's machines. */
const UNPACK = `
import chromium, { inflate } from '@sparticuz/chromium';
await chromium.executablePath();
await inflate(new URL('../bin/al2023.tar.br', import.meta.resolve('@sparticuz/chromium')).pathname);
`;

/** The fonts of the machine where it has any; Open Sans, from the package, where it has none. */
function fontsConfiguration(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>${folder}/fonts</dir>
  <cachedir>${folder}/fonts-cache</cachedir>
</fontconfig>
`;
}

async function packageVersion(): Promise<string> {
  const file = new URL('../package.json', import.meta.resolve('@sparticuz/chromium'));
  const { version }: { version: string } = JSON.parse(await readFile(file, 'utf8'));
  return version;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

// npm run fuzz -- [SECONDS] [message|uri]: libFuzzer with AddressSanitizer and UBSan on native/, from the corpus of
// test/fixtures/handed and, where it is there, ../shared/torture. Needs clang++. A finding is written to build/fuzz/.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const [seconds = '60', only] = process.argv.slice(2);
const directory = join('build', 'fuzz');
const corpus = join(directory, 'corpus');
mkdirSync(corpus, { recursive: true });
for (const from of ['test/fixtures/handed', '../shared/torture/rfc4475', '../shared/torture/rfc5118']) {
  if (existsSync(from))
    for (const name of readdirSync(from)) copyFileSync(join(from, name), join(corpus, name));
}
const run = (program, args) => spawnSync(program, args, { stdio: 'inherit' }).status ?? 1;
// A clang without its runtime cannot link a fuzzer.
const probe = spawnSync(
  'clang++',
  ['-fsanitize=fuzzer,address,undefined', '-xc++', '-', '-o', join(directory, 'probe')],
  {
    input:
      '#include <cstdint>\n#include <cstddef>\nextern "C" int LLVMFuzzerTestOneInput(const uint8_t *, size_t) { return 0; }\n',
  },
);
if (probe.status !== 0) {
  console.error(
    'fuzzing is skipped: clang++ with libFuzzer is missing (apt-get install clang libclang-rt-14-dev)',
  );
  process.exit(0);
}
const sources = ['sip_address.cc', 'sip_header.cc', 'sip_marks.cc', 'sip_uri.cc'].map((name) =>
  join('native', name),
);
const flags = [
  '-std=gnu++17',
  '-g',
  '-O1',
  '-fno-exceptions',
  '-fsanitize=fuzzer,address,undefined',
  '-fno-sanitize-recover=all',
];
if (process.arch === 'x64') flags.push('-mssse3');
for (const target of only === undefined ? ['message', 'uri'] : [only]) {
  const program = join(directory, `fuzz_${target}`);
  const built = run('clang++', [
    ...flags,
    join('native', 'fuzz', `fuzz_${target}.cc`),
    ...sources,
    '-o',
    program,
  ]);
  const options = [
    `-max_total_time=${seconds}`,
    '-max_len=8192',
    '-timeout=10',
    `-artifact_prefix=${directory}/`,
    '-print_final_stats=1',
  ];
  if (built !== 0 || run(program, [...options, corpus]) !== 0) process.exit(1);
}

// Makes a namespace in the way of the lab, says so and waits to be killed. It has no guardian.
'use strict';
const { spawn, execFileSync } = require('node:child_process');
const { readFileSync } = require('node:fs');
const stat = readFileSync('/proc/self/stat', 'latin1');
const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
const name = `dsbc_${process.pid}_${started}_1_doomed`;
execFileSync('ip', ['netns', 'add', name]);
const inside = spawn('nsenter', [`--net=/run/netns/${name}`, 'sleep', '1000'], {
  stdio: 'ignore',
  detached: true,
});
process.stdout.write(`${name} ${inside.pid}\n`);
setInterval(() => undefined, 1000);

// A socket that stands for all phones: it says 200 to whatever comes to its port on any address of this machine.
import { createSocket } from 'node:dgram';

const socket = createSocket({ type: 'udp4', recvBufferSize: 8 * 1024 * 1024 });
socket.on('message', (bytes, { address, port }) => {
  const lines = bytes.toString('latin1').split('\r\n');
  const copied = lines.filter((line) => /^(via|from|to|call-id|cseq):/i.test(line)).join('\r\n');
  socket.send(`SIP/2.0 200 OK\r\n${copied}\r\nContent-Length: 0\r\n\r\n`, port, address);
});
socket.bind(0, '0.0.0.0', () => process.send({ port: socket.address().port }));
process.once('disconnect', () => process.exit(0));

"""client.py [--minutes M --rate R --memory FILE] SERVER-COMMAND…: starts a memcached on a free port of 127.0.0.1, loads it from
8 connections with set, get, incr, append and delete, checks every answer, stops it with SIGTERM. Exit code 1 if an answer was wrong, 66 if
the server's is (a detector's for races).
Connections are non-shared: each has its keys and one counter is everybody's.

With --minutes the load goes on for that long, at R requests a second in all, each connection made anew after every 50
requests; the server's resident memory is written to FILE every 30 seconds, as `seconds KiB requests`."""
import argparse
import random
import signal
import socket
import subprocess
import sys
import threading
import time

CONNECTIONS = 8
REQUESTS = 1500


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(port, process):
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            if process.poll() is not None:
                sys.exit(f"the server ended with {process.returncode}")
            time.sleep(0.02)


class Client:
    def __init__(self, port, process):
        self.port = port
        self.process = process
        self.open()

    def open(self):
        self.connection = connect(self.port, self.process)
        self.file = self.connection.makefile("rb")

    def reopen(self):
        self.file.close()
        self.connection.close()
        self.open()

    def ask(self, request):
        self.connection.sendall(request)
        return self.file.readline()

    def set(self, verb, key, value):
        return self.ask(b"%s %s 0 0 %d\r\n%s\r\n" % (verb, key, len(value), value))

    def get(self, key):
        head = self.ask(b"get %s\r\n" % key)
        if head == b"END\r\n":
            return None
        value = self.file.read(int(head.split()[3]) + 2)[:-2]
        assert self.file.readline() == b"END\r\n"
        return value


def requests(client, until, pause, done, number):
    """Counts requests: REQUESTS of them, or as many as time allows."""
    while not until and done[number] < REQUESTS or until and time.monotonic() < until:
        yield
        done[number] += 1
        if until:
            time.sleep(pause)
            if done[number] % 50 == 0:
                client.reopen()


def load(number, client, increments, wrong, limits, done):
    choose = random.Random(number)
    mine = {}
    try:
        for _ in requests(client, *limits, done, number):
            key = b"k%d-%d" % (number, choose.randrange(200))
            action = choose.randrange(10)
            if action < 3:
                value = bytes(choose.randrange(97, 123) for _ in range(choose.randrange(1, 2000)))
                assert client.set(b"set", key, value) == b"STORED\r\n"
                mine[key] = value
            elif action < 7:
                assert client.get(key) == mine.get(key), key
            elif action < 8:
                if len(mine.get(key, b"")) > 4000:
                    continue
                answer = client.set(b"append", key, b"tail")
                assert answer == (b"STORED\r\n" if key in mine else b"NOT_STORED\r\n"), answer
                if key in mine:
                    mine[key] += b"tail"
            elif action < 9:
                assert client.ask(b"incr counter 1\r\n").strip().isdigit()
                increments[number] += 1
            else:
                answer = client.ask(b"delete %s\r\n" % key)
                assert answer == (b"DELETED\r\n" if key in mine else b"NOT_FOUND\r\n"), answer
                mine.pop(key, None)
    except Exception as error:
        wrong.append(f"connection {number}: {error!r}")


def server(process):
    """The server itself, if `footrace run` started it."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        return (children.read().split() or [process.pid])[0]


def stop(process, port):
    """Stops the server. It looks whether it was told to when its event loop comes round: once a second, or with a connection. Without one, the time of
    the whole job would be in whole seconds."""
    process.send_signal(signal.SIGTERM)
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            pass
        time.sleep(0.01)
    process.wait(timeout=1)


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def watch(path, process, until, done):
    begin = time.monotonic()
    with open(path, "w") as out:
        while time.monotonic() < until:
            seconds = int(time.monotonic() - begin)
            print(seconds, resident(server(process)), sum(done), file=out, flush=True)
            time.sleep(min(30, max(0, until - time.monotonic())))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--rate", type=float, default=80)
    parser.add_argument("--memory", default="/dev/null")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    port = free_port()
    process = subprocess.Popen(arguments.command + ["-l", "127.0.0.1", "-p", str(port), "-U", "0"])
    wrong = []
    increments = [0] * CONNECTIONS
    done = [0] * CONNECTIONS
    clients = [Client(port, process) for _ in range(CONNECTIONS)]
    if clients[0].set(b"set", b"counter", b"0") != b"STORED\r\n":
        wrong.append("the counter was not stored")
    until = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
    limits = (until, CONNECTIONS / arguments.rate)
    threads = [
        threading.Thread(target=load, args=(number, client, increments, wrong, limits, done))
        for number, client in enumerate(clients)
    ]
    if until:
        threads.append(threading.Thread(target=watch, args=(arguments.memory, process, until, done)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not wrong and int(clients[0].get(b"counter")) != sum(increments):
        wrong.append("increments were lost")
    stop(process, port)
    print("\n".join(wrong) or f"{sum(done)} requests answered")
    sys.exit(1 if wrong else 66 if process.returncode == 66 else 0)


main()

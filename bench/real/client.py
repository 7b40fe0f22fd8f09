"""client.py SERVER-COMMAND…: starts a memcached on a free port of 127.0.0.1, loads it from 8 connections with set, get,
incr, append and delete, checks every answer, stops it with SIGTERM. Exit code 1 if an answer was wrong, 66 if the server's
is (a detector's for races).
Connections are non-shared: each has its keys and one counter is everybody's."""
import random
import signal
import socket
import subprocess
import sys
import threading
import time

CONNECTIONS = 8
REQUESTS = 3000


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
    def __init__(self, connection):
        self.connection = connection
        self.file = connection.makefile("rb")

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


def load(number, client, increments, wrong):
    choose = random.Random(number)
    mine = {}
    try:
        for _ in range(REQUESTS):
            key = b"k%d-%d" % (number, choose.randrange(200))
            action = choose.randrange(10)
            if action < 3:
                value = bytes(choose.randrange(97, 123) for _ in range(choose.randrange(1, 2000)))
                assert client.set(b"set", key, value) == b"STORED\r\n"
                mine[key] = value
            elif action < 7:
                assert client.get(key) == mine.get(key), key
            elif action < 8:
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


def main():
    port = free_port()
    process = subprocess.Popen(sys.argv[1:] + ["-l", "127.0.0.1", "-p", str(port), "-U", "0"])
    wrong = []
    increments = [0] * CONNECTIONS
    clients = [Client(connect(port, process)) for _ in range(CONNECTIONS)]
    if clients[0].set(b"set", b"counter", b"0") != b"STORED\r\n":
        wrong.append("the counter was not stored")
    threads = [
        threading.Thread(target=load, args=(number, client, increments, wrong))
        for number, client in enumerate(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not wrong and int(clients[0].get(b"counter")) != sum(increments):
        wrong.append("increments were lost")
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=60)
    print("\n".join(wrong) or f"{CONNECTIONS * REQUESTS} requests answered")
    sys.exit(1 if wrong else 66 if process.returncode == 66 else 0)


main()

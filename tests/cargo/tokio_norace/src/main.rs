// tokio's multi-thread runtime: tasks, channels, locks, timers, blocking work and TCP on loopback, without a race.
// verdict: norace
// timeout: 120
// tsan: varies (the std that rustup installs is not instrumented, so its synchronisation is not seen)
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, Mutex, Notify, RwLock, broadcast, mpsc, oneshot, watch};

async fn channels() {
    let (sender, mut receiver) = mpsc::channel::<Vec<u32>>(4);
    for me in 0..4 {
        let sender = sender.clone();
        tokio::spawn(async move {
            for i in 0..50 {
                sender.send(vec![me, i]).await.unwrap();
            }
        });
    }
    drop(sender);
    let mut count = 0;
    while let Some(mut message) = receiver.recv().await {
        message[1] += 1;
        count += 1;
    }
    assert_eq!(count, 200);
    let (answer, question) = oneshot::channel();
    tokio::spawn(async move { answer.send(String::from("a string on the heap")).unwrap() });
    assert_eq!(question.await.unwrap().len(), 20);
    let (news, mut first) = broadcast::channel(8);
    let mut second = news.subscribe();
    tokio::spawn(async move { news.send(vec![1, 2, 3]).unwrap() });
    assert_eq!(first.recv().await.unwrap(), second.recv().await.unwrap());
    let (tell, mut seen) = watch::channel(0);
    tokio::spawn(async move { tell.send(5).unwrap() });
    seen.changed().await.unwrap();
    assert_eq!(*seen.borrow(), 5);
}

async fn locks() {
    let total = Arc::new(Mutex::new(0_u32));
    let table = Arc::new(RwLock::new(vec![0_u32; 4]));
    let barrier = Arc::new(Barrier::new(3));
    let tasks: Vec<_> = (0..3)
        .map(|me| {
            let (total, table, barrier) = (total.clone(), table.clone(), barrier.clone());
            tokio::spawn(async move {
                for _ in 0..100 {
                    *total.lock().await += 1;
                    table.write().await[me] += 1;
                }
                barrier.wait().await;
                assert_eq!(table.read().await.iter().sum::<u32>(), 300);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*total.lock().await, 300);
    let bell = Arc::new(Notify::new());
    let ringer = bell.clone();
    tokio::spawn(async move { ringer.notify_one() });
    bell.notified().await;
}

async fn network() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0_u8; 64];
        loop {
            let n = socket.read(&mut buffer).await.unwrap();
            if n == 0 {
                return;
            }
            socket.write_all(&buffer[..n]).await.unwrap();
        }
    });
    let mut client = TcpStream::connect(address).await.unwrap();
    for _ in 0..20 {
        client.write_all(b"ping").await.unwrap();
        let mut back = [0_u8; 4];
        client.read_exact(&mut back).await.unwrap();
        assert_eq!(&back, b"ping");
    }
    drop(client);
    server.await.unwrap();
}

#[tokio::main(flavor = "multi_thread", worker_threads = 3)]
async fn main() {
    channels().await;
    locks().await;
    network().await;
    let computed =
        tokio::task::spawn_blocking(|| (0..1000_u64).map(|n| vec![n]).map(|v| v[0]).sum::<u64>());
    assert_eq!(computed.await.unwrap(), 499_500);
    tokio::time::sleep(Duration::from_millis(1)).await;
    let late = tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await;
    assert!(late.is_err());
}

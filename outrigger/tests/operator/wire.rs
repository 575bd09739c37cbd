//! A connection to the API server that can be cut.

use std::net::SocketAddr;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// Connections go through it; when it is cut, all of them end, and no new ones are accepted.
pub struct Wire {
    address: SocketAddr,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Whole,
    Cut,
}

impl Wire {
    /// To the server at this address.
    pub async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = watch::Sender::new(State::Whole);
        let changes = state.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, server, changes.clone()));
            }
        });
        Self { address, state }
    }

    /// The address to connect to instead.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends every connection, and refuses new ones.
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// Lets connections through again.
    pub fn mend(&self) {
        self.state.send_replace(State::Whole);
    }
}

async fn carry(mut client: TcpStream, server: SocketAddr, mut state: watch::Receiver<State>) {
    let cut = async { state.wait_for(|state| *state == State::Cut).await.map(drop) };
    let through = async {
        if let Ok(mut server) = TcpStream::connect(server).await {
            drop(copy_bidirectional(&mut client, &mut server).await);
        }
    };
    tokio::select! {
        biased;
        _ = cut => {}
        () = through => {}
    }
}
